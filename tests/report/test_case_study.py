"""A task on one page: a trial of each arm, resource → action → effect, and the verifier's words."""

import json

import pytest

from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder
from skilljuror.judge.study import judge_study
from skilljuror.report.trajectory import look_up_case, representative
from skilljuror.store.questions import run
from skilljuror.store.trials import ingest_trials
from skilljuror.study.run import run_study
from tests.support.cli_process import call
from tests.support.studies import make_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    base = tmp_path_factory.mktemp("case")
    file = make_study(
        base, packaged=["redact-lines"], variants={"baseline": "baseline", "pd": "pd"}, trials=2,
        agent={"name": "scripted"},
    )  # fmt: skip
    run_study(file, base / "out")
    ingest_trials(base / "out")
    judge_study(base / "out")
    return base / "out"


@pytest.mark.slow
def test_a_task_shows_a_trial_of_each_arm_with_what_led_to_what(study, tmp_path):
    done = call("show", study, "redact-lines", "--html", tmp_path / "case.html", "--json")
    assert done.returncode == 0, done.stderr
    names = [one["name"] for one in json.loads(done.stdout)]
    assert [name.rpartition("__")[0] for name in names] == [
        "redact-lines__baseline", "redact-lines__pd",
    ]  # fmt: skip
    page = (tmp_path / "case.html").read_text()
    assert "<h1>redact-lines</h1>" in page
    yes = run(
        StudyFolder(study).database,
        "SELECT count(*) FROM verdicts WHERE label = 'yes' AND trial IN (SELECT unnest($names))",
        names=names,
    ).rows[0][0]
    assert page.count('<span class="then">→') >= yes > 0
    assert page.count('<ol class="chain">') == 2
    assert (
        page.count("The verifier&#39;s last words") == 2 or page.count("verifier's last words") == 2
    )
    assert "display tokens not known (no_model)" in page


@pytest.mark.slow
def test_a_trial_is_no_case_and_neither_is_an_unknown_name(study):
    assert look_up_case(study, "redact-lines__pd__1") is None
    assert look_up_case(study, "else") is None
    case = look_up_case(study, "redact-lines")
    assert case is not None
    assert len(case.runs) == 2


def rows(*outcomes):
    return [
        {"trial": f"t{n}", "strict": strict, "final": final, "contaminated": dirty}
        for n, (strict, final, dirty) in enumerate(outcomes)
    ]


def test_the_trial_ended_as_most_did_and_is_final_and_clean(tmp_path):
    passes, fails = (True, True, False), (False, True, False)
    assert representative(tmp_path, "pd", rows(fails, passes, passes))[0] == "t1"
    assert representative(tmp_path, "pd", rows(passes, fails, fails))[0] == "t1"
    chosen, words = representative(
        tmp_path, "pd", rows((True, True, True), (False, False, False), fails)
    )
    assert chosen == "t2"
    assert words == (
        "pd: 0 of 1 trials pass, 2 open or contaminated; t2 is the first that does not pass"
    )
    with pytest.raises(StudyError, match="no trial of 'pd' is final and uncontaminated"):
        representative(tmp_path, "pd", rows((True, True, True)))
