"""Commands that are known again when their values have changed."""

import pytest

from skilljuror.judge.features.commands import commands, commands_on

EVERYDAY = frozenset({"$ git", "$ docker"})


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("berth add <vessel> -q <quay> --hold",
         {"$ berth add": 2, "$ berth add -q": 1, "$ berth add --hold": 1}),
        ("grainscan slide.png -m 40 --dedupe", {"$ grainscan -m": 1, "$ grainscan --dedupe": 1}),
        ("$ LANE=2 scripts/relay.sh handoff --lane=north",
         {"$ relay.sh handoff": 2, "$ relay.sh handoff --lane": 1}),
        ("cd /w && tilecut warp $IN; tilecut seal {out}", {"$ tilecut warp": 2, "$ tilecut seal": 2}),
        ("git commit -m <message>", {}),
        ("vaultkeep open", {}),
        ("if a < b: return -x", {}),
        ("<agent> -- <prompt>", {}),
        ("", {}),
    ],
)  # fmt: skip
def test_what_a_piece_of_code_offers(code, expected):
    assert dict(commands(code, EVERYDAY)) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cd /w && berth add Aurora --hold -q 14", ["", " -q", " --hold"]),
        ('tmux new-window "berth add Aurora -q 14; exit"', ["", " -q"]),
        ("usage: berth add VESSEL [-q QUAY] [--hold]", ["", " -q", " --hold"]),
        ("./bin/berth add Aurora | tee -q", [""]),
        ("berth list -q 14", []),
        ("adding a berth -q", []),
    ],
)
def test_where_it_is_found_again(line, expected):
    known = dict(commands("berth add <vessel> -q <quay> --hold", EVERYDAY))
    found = set(commands_on(line, known, {"berth"}))
    assert found == {f"$ berth add{flag}" for flag in expected}


def test_a_command_without_a_subcommand_is_found_by_its_flags():
    known = dict(commands("grainscan slide.png -m 40 -k birch", EVERYDAY))
    found = set(commands_on("grainscan run a.png -k oak", known, {"grainscan"}))
    assert found == {"$ grainscan -k"}
