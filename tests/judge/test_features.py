"""Features of lines, settings and commands, and their index."""

import pytest

from skilljuror.judge.features import (
    FeatureIndex,
    commands,
    commands_on,
    company,
    content_words,
    entry_feature,
    features_of,
    name_weight,
    settings,
    tokenize,
    with_table_settings,
)

NOTHING_COMMON = frozenset[str]()


def weights(line, code=False, common=NOTHING_COMMON):
    return dict(features_of(line, code, common))


@pytest.mark.parametrize(
    ("name", "weight"),
    [
        ("analyze_largest_component", 3),
        ("BASE_SHA", 2),
        ("MeshAnalyzer", 3),
        ("para.runs", 2),
        ("schema.yaml", 2),
        ("branch-creation.md", 3),
        ("follow-up", 1),
        ("av-raf-5-review", 2),
        ("cebf75d", 2),
        ("a6753b9930e9", 3),
        ("table", 0),
        ("123456", 0),
        ("abc", 0),
    ],
)
def test_weight_of_a_name(name, weight):
    assert name_weight(name) == weight


@pytest.mark.parametrize(
    ("line", "feature", "weight"),
    [
        ("see references/schema.yaml now", "references/schema.yaml", 3),
        ("/root/.claude/skills/mesh/references/schema.yaml", "references/schema.yaml", 3),
        ("run it with --strict-header.", "--strict-header", 2),
        ("Check `gh --version`.", "gh version", 1),
        ("Run `gh auth status`.", "gh auth status", 2),
        ("mass 34,648.04 kg", "#3.465e+04", 2),
        ("a cap of 5.35699", "#5.357", 2),
        ("in the year 2024", "#2024", 1),
        ("a cap of 48213.5kg", "#4.821e+04", 2),
        ("## When to Apply", "## when to apply", 2),
        ("fold every quarterly ledger", "fold every quarterly ledger", 1),
    ],
)
def test_what_a_line_offers(line, feature, weight):
    assert weights(line)[feature] == weight


@pytest.mark.parametrize(
    "line",
    [
        "v1374b2",
        "`table`",
        "This is what you should do with it.",
        "42 and 7",
        "",
        "`` ` ``",
    ],
)
def test_plain_lines_offer_nothing(line):
    assert weights(line) == {}


def test_rounding_does_not_hide_a_number():
    assert weights("34648.04123490179").keys() & weights("34,648.04").keys()
    assert not weights("34648.04").keys() & weights("34748.04").keys()


def test_common_tokens_and_everything_below_a_common_module_weigh_nothing():
    common = frozenset({"readme.md", "os."})
    assert weights("README.md os.path.join", common=common) == {}


def test_a_short_line_is_a_phrase_in_code_only():
    assert "workmux status" in weights("workmux status", code=True)
    assert "workmux status" not in weights("workmux status")


def test_scripts_without_spaces_have_words():
    assert content_words(tokenize("设置页眉行")) == 5
    assert weights("必须设置页眉行")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("-rw-r--r-- 1 root root 12 Jan 1 10:00 limits.md", "name:limits.md"),
        ("├── templates/", "name:templates"),
        ("skills/csv/references/limits.md", "name:limits.md"),
        ("total 12", None),
        ("..", None),
    ],
)
def test_entries_of_listings(line, name):
    assert entry_feature(line) == name


def test_a_number_of_four_digits_is_known_by_a_word_beside_it():
    offered = dict(features_of("Cone 6 slumps above a ramp of 137.5 degrees", False, frozenset()))
    assert offered["#137.5 ramp"] == offered["#137.5 degree"] == 1
    assert not [name for name in offered if name.startswith("#6")]
    assert "ramp" in company("MAX_RAMP = 137.5")
    assert "dwell" in company("dwellTimes: 4183")


def test_a_number_that_everybody_writes_is_known_by_nothing():
    assert not [
        name for name, _ in features_of("port 8080 of 1375", False, frozenset({"8080"}))
        if name.startswith("#8080")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "- Cut-off: 3.5",
        "cut_off = 3.50",
        "| Cut off | 3.5 |",
        '"cut_off": 3.5,',
        "--cut-off 3.5",
        "run --cut-off=3.5",
        "**Cut-off:** `3.5`",
        "the cut-off is 3.5",
    ],
)
def test_spellings_of_one_setting(line):
    assert dict(settings(line)) == {"cut off=3.5": 2}


@pytest.mark.parametrize(
    "line",
    [
        "Note: this is so",
        "x = foo(3)",
        "def main(): pass",
        "is: it",
        "fix this issue",
        "run --level5",
    ],
)
def test_what_is_no_setting(line):
    assert dict(settings(line)) == {}


def test_a_table_names_its_cells():
    lines = ["| Tier | Burn window |", "|---|:--:|", "| 2 | 12 minutes |", "", "| 3 | 4 |"]
    cells = [part for _, parts in with_table_settings(lines) for part in parts]
    assert cells == ["Tier: 2", "Burn window: 12"]
    assert dict(settings(cells[1])) == {"burn window=12": 2}


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


NOTHING_COMMON = frozenset[str]()


def test_what_was_offered_is_found_and_quoted():
    index = FeatureIndex(NOTHING_COMMON)
    lines = ["Always call load_quarterly_sheet first.", "```", "tabler verify", "```"]
    index.add_source((0,), lines, listing=False)
    hits = index.find(["x = load_quarterly_sheet()", "$ tabler verify --all"])
    assert hits == {
        "load_quarterly_sheet": "x = load_quarterly_sheet()",
        "tabler verify": "$ tabler verify --all",
    }
    assert index.quote((0,), "load_quarterly_sheet") == lines[0]


@pytest.mark.parametrize(
    "line",
    [
        "Größe_max übersteigt alpha_beta, naïvescripts/run_all.py",
        "请用 berth_plan.py 和 ./docs/./limits.md 看 MeshAnalyzer",
        "rm --keep or --dry-run, then --level5 and a/b/c/d.txt",
        "pageLimit = 12, page_size: 40, Burn window | 12 | x:-.ab",
        "--burn-window=12 --retry_mode=fast",
        "## Wann beginnt `die Übung` at 34,648.04 or 137.5 degrees",
        "    berth add -q <NAME>; cd /tmp/Kfoo_bar && src/+/$",
        "Always normalise every ledger before closing the quarter",
    ],
)
def test_a_line_has_all_that_it_offers(line):
    index = FeatureIndex(NOTHING_COMMON)
    index.add_source((0,), [line], listing=False)
    assert index.weights.keys() == index.find([line]).keys()


def test_an_entry_may_end_in_an_equals_sign():
    index = FeatureIndex(NOTHING_COMMON)
    index.add_source((0,), ["srwxr-xr-x 1 root root 0 Jan 1 10:00 agent.sock="], listing=True)
    assert index.find(["cat run/agent.sock="]) == {}
    assert list(index.weights) == ["name:agent.sock="]
