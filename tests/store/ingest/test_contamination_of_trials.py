"""From a real shape of log to the flag: text that its arm should never have seen is found."""

import pytest

from skilljuror.base.build import BuildRecord
from skilljuror.base.review import JudgedBuild
from skilljuror.base.trajectory import Resource, SkillManifest
from skilljuror.layouts.build.manifests import NOTHING_OFFERED
from skilljuror.store import open_write
from skilljuror.store.questions import run
from skilljuror.store.rows import analyse
from tests.support import fabricated_records as fake
from tests.support import goldens

SKILL = "tide-table"
FLAT = ("SKILL.md",)
SPLIT = ("SKILL.md", "references/stations.md", "scripts/fetch.py")


def build() -> BuildRecord:
    """A flat and a split variant of the skill that the golden log reads."""
    variants = {
        name: fake.manifest(name, [f"{SKILL}/{path}" for path in paths], skills=(SKILL,))
        for name, paths in (("baseline", FLAT), ("pd", SPLIT))
    }
    return BuildRecord(
        name="alpha", skilljuror_version="0", engine="plan", tokenizer="estimate-v1",
        source=variants["pd"].model_copy(update={"variant": "source", "parent": None}),
        variants=tuple(variants.values()),
    )  # fmt: skip


def offered(paths: tuple[str, ...], variant: str) -> SkillManifest:
    resources = tuple(
        Resource(SKILL, path, "root" if path == "SKILL.md" else "support", "text\n", 1)
        for path in paths
    )
    return SkillManifest(resources, ("/w/harbour/.agents/skills",), (SKILL,), True, variant)


@pytest.mark.parametrize(
    ("condition", "manifest", "flags"),
    [
        (
            "no-skill",
            NOTHING_OFFERED,
            {"skill_in_no_skill_arm", "other_skill_offered"},
        ),
        ("baseline", offered(FLAT, "baseline"), {"other_variants_file"}),
        ("pd", offered(SPLIT, "pd"), set()),
    ],
)
def test_a_log_tells_what_its_arm_should_not_have_seen(tmp_path, condition, manifest, flags):
    (log,) = goldens.trajectories("codex-rollout/skill-read")
    record = fake.trial("alpha", condition)
    with open_write(tmp_path / "study.duckdb") as store:
        plan = fake.plan(["alpha"])
        config = plan.config.model_copy(update={"accept_skills": ("skill-maker",)})
        store.put_plan(plan.model_copy(update={"config": config}))
        store.put_builds([JudgedBuild(build(), [])])
        store.put_trials([record])
        fake.put(store, [analyse(record.trial, log, record, manifest)])
    rows = run(tmp_path / "study.duckdb", "quality_flags").records()
    assert {row["flag"] for row in rows if row["kind"] == "contamination"} == flags
