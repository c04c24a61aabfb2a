"""The commands put together: help for all, and for each."""

import pytest

from tests.support.cli_process import call, complaint

COMMANDS = ("demo", "build", "audit", "run", "ingest", "show", "judge", "report", "query", "doctor")


def test_help_names_every_command():
    done = call("--help")
    assert done.returncode == 0
    assert all(f"\n  {name} " in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_knows_json(name):
    done = call(name, "--help")
    assert done.returncode == 0
    assert "--json" in done.stdout
    assert "--debug" in done.stdout


def test_no_words_print_the_help():
    assert call().stdout == call("--help").stdout


def test_a_wrong_word_leads_to_the_help_of_its_command():
    assert "(see skilljuror audit --help)" in complaint(call("audit", "--kind", "flat"))
