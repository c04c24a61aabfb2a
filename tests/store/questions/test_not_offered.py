"""A skill of the variant that the log's list lacks: raised where the list is whole, and only there."""

import pytest

from skilljuror.base.results import OfferedRow
from skilljuror.base.review import JudgedBuild
from skilljuror.base.trajectory import SkillManifest
from skilljuror.store import open_write
from skilljuror.store.questions import run
from skilljuror.store.rows import analyse
from tests.support import fabricated_records as fake
from tests.support import goldens

SKILLS = ("csv-report", "pdf_forms", "charts")


def build(skills):
    """A build whose variants hold these skills."""
    record, results, *_ = fake.build("alpha")
    files = [f"{skill}/SKILL.md" for skill in skills]
    variants = tuple(fake.manifest(name, files, skills=skills) for name in ("baseline", "pd"))
    return JudgedBuild(record.model_copy(update={"variants": variants}), results)


def flags(path):
    found = run(path, "SELECT trial, flag, detail FROM contaminations ORDER BY ALL").rows
    return [detail for _, flag, detail in found if flag == "skill_not_offered"]


def planned(path, skills, log):
    trial = fake.trial("alpha", "pd")
    with open_write(path) as store:
        store.put_plan(fake.plan(["alpha"]))
        store.put_builds([build(skills)])
        store.put("trials", [trial])
        fake.put(store, [log(trial)])


def told(folder, offered, agent: str | None = "claude-code", skills=SKILLS):
    """What is said of a trial whose log lists these (name, bundled); None lists nothing."""
    path = folder / "study.duckdb"
    listed = offered and tuple(OfferedRow("t1", *one) for one in offered)
    planned(path, skills, lambda trial: fake.replaced(
        fake.run("t1", trial=trial.trial, agent=agent), offered=listed
    ))  # fmt: skip
    return flags(path)


def names(*listed):
    return [(name, False) for name in listed]


LACKS = "the log lists the skills on offer, and not {} of the variant"


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["claude-code", "terminus-2", "codex", "copilot-cli", None])
@pytest.mark.parametrize(
    ("listed", "missing"),
    [
        (SKILLS, None),
        (("plugin:charts", "PDF Forms", "csv-report"), None),
        (("csv-report", "pdf_forms"), "charts"),
        (("sea:csv-report",), "charts, pdf_forms"),
        ((), "charts, csv-report, pdf_forms"),
    ],
)
def test_any_skill_that_a_short_list_lacks_is_named(tmp_path, agent, listed, missing):
    expected = [LACKS.format(missing)] if missing else []
    assert told(tmp_path, names(*listed), agent) == expected


@pytest.mark.parametrize(
    ("agent", "raised"),
    [
        ("claude-code", True),
        ("terminus-2", False),
        ("codex", False),
        ("other", False),
        (None, False),
    ],
)
def test_a_list_that_may_have_been_cut_proves_nothing_of_single_skills(tmp_path, agent, raised):
    own = [(f"own-{n}", True) for n in range(10)]
    listed = [*own, *names("csv-report", "pdf_forms")]
    assert told(tmp_path, listed, agent) == ([LACKS.format("charts")] if raised else [])


@pytest.mark.parametrize(
    ("agent", "strangers", "raised"),
    [
        ("codex", ["Plots and charts"], False),
        ("codex", ["Plots and charts", "notes"], False),
        ("claude-code", ["notes"], True),
    ],
)
def test_a_listed_name_may_be_the_frontmatters_of_a_missing_one(tmp_path, agent, strangers, raised):
    """Claude Code lists the names of folders, so that there a stranger is none of them."""
    listed = names("csv-report", "pdf_forms", *strangers)
    assert told(tmp_path, listed, agent) == ([LACKS.format("charts")] if raised else [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "skills", "missing"),
    [
        ("claude-session/skill-call", ("tide-table", "buoys"), None),
        ("claude-session/skill-call", ("tide-table", "kelp-count"), "kelp-count"),
        ("claude-stream/sub-agent", ("tide-table", "kelp-count"), "kelp-count"),
        ("codex-rollout/skill-read", ("tide-table", "kelp-count"), "kelp-count"),
        ("codex-rollout/older", ("tide-table",), None),
        ("copilot-cli/view-and-bash", ("tide-table", "kelp-count"), "kelp-count"),
        ("terminus-2/load-skill", ("tide-table", "kelp-count"), "kelp-count"),
        ("atif/continued", ("kelp-count",), "kelp-count"),
    ],
)
def test_a_log_tells_which_skill_of_its_arm_it_lacks(tmp_path, case, skills, missing):
    (log,) = goldens.trajectories(case)[:1]
    path = tmp_path / "study.duckdb"
    offered = SkillManifest((), ("/w/skills",), skills, True, "pd")
    planned(path, skills, lambda trial: analyse(trial.trial, log, trial, offered))
    assert flags(path) == ([LACKS.format(missing)] if missing else [])
