"""A home folder with a bundle, in which commands really run."""

import pytest

from tests.support.real_shell import forget, make_home, opened


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The folder."""
    return make_home(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def watched(home):
    """The same, where the file system says which files are opened."""
    forget(home)
    (home / ".claude/skills/ledger/SKILL.md").read_text()
    if opened(home) != {"SKILL.md"}:
        pytest.skip("this file system keeps no access times")
    return home
