"""A study is hidden from its own trials, wherever it is."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder
from skilljuror.study.run import run_study
from tests.support.harness_tasks import needs_bwrap, write_tree
from tests.support.studies import edit_study, make_study

pytestmark = needs_bwrap


@pytest.fixture
def place():
    """A folder that agents see whole, as they see /usr and the prefix of Python."""
    with TemporaryDirectory(dir="/tmp") as folder:  # a sandbox has a /dev/shm of its own
        Path(folder).chmod(0o755)
        yield write_tree(Path(folder), {"tool": "x", "more/kept": "y"})


def run(study, place, shown):
    options = {"argv": ["bash", "-c", f"cd {shown}; find -L . -type f"], "show": [str(shown)]}
    edit_study(study, agent={"name": "command", "options": options}, harness={})
    out = place / "results"
    run_study(study, out)
    trials = StudyFolder(out).finished_trials()
    return [(out / "trials" / name / "raw/agent-stdout.txt").read_text() for name in sorted(trials)]


@pytest.mark.slow
@pytest.mark.parametrize("linked", [False, True])
def test_no_trial_sees_other_tasks_skills_or_earlier_results(place, linked):
    (place / "study").mkdir()
    study = make_study(place / "study", trials=2)
    if linked:
        (place / "study/tea").rename(place / "tea")
        (place / "study/tea").symlink_to(place / "tea")
        (place.parent / f"{place.name}-link").symlink_to(place)
    shown = place.parent / f"{place.name}-link" if linked else place
    try:
        said = run(study, place, shown)
    finally:
        if linked:
            shown.unlink()
    assert [sorted(one.split()) for one in said] == [["./more/kept", "./tool"]] * 4


def test_a_study_around_what_trials_need_is_refused(place):
    (place / "study").mkdir()
    study = make_study(place / "study", trials=1)
    write_tree(place, {"study/tools/tool": "x"})
    options = {"argv": ["true"], "show": [str(place), str(place / "study/tools")]}
    edit_study(study, agent={"name": "command", "options": options}, harness={})
    with pytest.raises(StudyError, match=r"study' holds '.*/tools', which trials need; move the"):
        run_study(study, place / "results")
