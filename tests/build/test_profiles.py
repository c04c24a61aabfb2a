"""Layout by profile: what the runs of a study opened and used decides where sections go."""

import json
import re
import shutil

import pytest

from skilljuror.build.build import build_source, load_build
from skilljuror.build.profiles import _Evidence, _judged, make_profile, profile_file, stored_profile
from skilljuror.bundles import load_bundle
from skilljuror.errors import StudyError
from skilljuror.ingest.trials import ingest_trials
from skilljuror.judging.judge_study import judge_study
from skilljuror.run.run import run_study
from skilljuror.transforms.disclosure.scope import OpenSection
from skilljuror.verify.verification import verify_build
from tests.support.cli_process import call
from tests.support.places import ROOT
from tests.support.studies import make_study

SECTION = OpenSection(10, "Errors", (), "text", (10,))
FLAT_TITLE = re.compile(r"## Reference content from `[^`]*`\n\n#+ (.*)\n")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A flat Skill of the examples, and a judged study of two tasks with it, run by the scripted agent."""
    base = tmp_path_factory.mktemp("profile")
    built = base / "built"
    build_source(ROOT / "examples/skills/log-triage/incident-triage", built, variants=("baseline",))
    source = base / "incident-triage"
    shutil.copytree(built / "variants/baseline/incident-triage", source)
    page = source / "SKILL.md"
    page.write_text(FLAT_TITLE.sub(r"## \1 reference\n", page.read_text()))
    tasks = [
        {"path": f"examples/tasks/{name}", "skills": "incident-triage"}
        for name in ("redact-lines", "alert-rules")
    ]
    file = make_study(
        base, packaged=["redact-lines"], variants={"baseline": "baseline", "pd": "pd"}, trials=5,
        agent={"name": "scripted"}, tasks=tasks,
    )  # fmt: skip
    run_study(file, base / "study", jobs=2)
    ingest_trials(base / "study")
    judge_study(base / "study")
    return base


@pytest.fixture
def source(base, tmp_path):
    shutil.copytree(base / "incident-triage", tmp_path / "incident-triage")
    return tmp_path / "incident-triage"


def test_what_most_runs_opened_goes_to_the_root_and_the_rest_stays(base, source, tmp_path):
    bundle = load_bundle(source, inspect=False)
    profile = make_profile(source, bundle, base / "study")
    assert (profile["fit"], profile["held_out"]) == (["alert-rules"], ["redact-lines"])
    told = {one["title"]: (one["scope"], one["reason"]) for one in profile["sections"].values()}
    assert told["Paging reference"] == (
        "main", "opened by 5 of 5 runs of 1 tasks (95 %: 0.57 to 1.00)",
    )  # fmt: skip

    assert not {"Redaction reference", "Grouping reference"} & {
        title for title, (scope, _) in told.items() if scope == "main"
    }
    assert stored_profile(source, bundle) == profile
    record = build_source(source, tmp_path / "out", variants=("pd", "pd-profile"))
    verdicts = {one.variant: one.verdict for one in record.variants}
    assert verdicts == {"baseline": "pass", "pd": "pass", "pd-profile": "pass"}
    root = tmp_path / "out/variants/pd-profile/incident-triage/SKILL.md"
    plain = tmp_path / "out/variants/pd/incident-triage/SKILL.md"
    heading = re.compile(r"^#+ (Burn rate|What is not masked)$", re.MULTILINE)
    assert heading.findall(root.read_text()) == ["Burn rate"]
    assert heading.findall(plain.read_text()) == []
    assert load_build(tmp_path / "out").options["profile"] == profile
    assert verify_build(tmp_path / "out").problems == ()


def test_pd_itself_follows_no_profile_and_pd_profile_needs_one(base, source, tmp_path):
    before = build_source(source, tmp_path / "before", variants=("pd",))
    done = call("build", source, "--out", tmp_path / "none", "--variants", "pd-profile")
    assert (done.returncode, "build SOURCE --profile STUDY" in done.stderr) == (2, True)
    made = call("build", source, "--out", tmp_path / "out", "--profile", base / "study")
    assert made.returncode == 0, made.stderr
    assert "fitted on alert-rules; held out: redact-lines" in made.stderr
    assert "'Paging reference' is main: opened by 5 of 5 runs" in made.stdout
    digest = {one.variant: one.tree_digest for one in load_build(tmp_path / "out").variants}
    assert digest["pd"] == next(one.tree_digest for one in before.variants if one.variant == "pd")
    assert digest["pd-profile"] != digest["pd"]


def test_a_changed_source_has_no_profile_and_a_damaged_one_is_an_error(base, source):
    make_profile(source, load_bundle(source, inspect=False), base / "study")
    file = profile_file(source)
    assert json.loads(file.read_text())["study"] == "study"
    page = source / "SKILL.md"
    page.write_text(page.read_text() + "\nOne sentence more.\n")
    changed = load_bundle(source, inspect=False)
    assert stored_profile(source, changed) is None
    with pytest.raises(StudyError, match="no task with this source"):
        make_profile(source, changed, base / "study")
    file.write_text("{")
    with pytest.raises(StudyError, match="is no profile"):
        stored_profile(source, changed)


def runs(opened, used, maybe, n=10, *, apart=True, judged=True):
    """n runs, of which so many opened, used or may have used the section."""
    return [_Evidence(apart, i < opened, i < used, i < maybe, judged) for i in range(n)]


@pytest.mark.parametrize(
    ("of", "scope"),
    [
        ({"a": runs(10, 0, 10), "b": runs(9, 0, 9)}, "main"),  # opened by most
        ({"a": runs(10, 0, 10), "b": runs(1, 0, 9)}, None),  # by most of one task alone
        ({"a": runs(6, 0, 10)}, None),  # by more than half, as far as ten runs can tell
        ({"a": runs(0, 9, 10, apart=False)}, "main"),  # used by most
        ({"a": runs(0, 0, 10, apart=False)}, None),  # shown in the root, use open
        ({"a": runs(0, 0, 1, apart=False)}, "branch"),  # used by few at most
        ({"a": runs(0, 0, 1, apart=False, judged=False)}, None),  # nobody judged
        ({"a": runs(1, 0, 1)}, "branch"),
        ({"a": runs(3, 0, 3, n=3)}, None),  # three runs prove nothing
        ({}, None),
    ],
)
def test_a_section_moves_only_where_interval_and_every_task_agree(of, scope):
    judged = _judged(SECTION, of, "st")
    assert (judged and judged["scope"]) == scope
