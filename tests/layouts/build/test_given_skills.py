import shutil

import pytest

from skilljuror.base.errors import BundleError, StudyError
from skilljuror.base.files import StudyFolder, digest_tree
from skilljuror.base.study import SkillSource
from skilljuror.layouts.build.given_skills import GivenSkills, given_rows
from skilljuror.skill.bundles import load_bundle
from skilljuror.study.plan import changed_fields, freeze, load_study
from tests.support.git_repositories import git
from tests.support.harness_tasks import SKILL, write_tree
from tests.support.studies import KETTLE, edit, make_study

LATER = SKILL.replace("4 minutes", "5 minutes") + "\nWarm the pot.\n"


@pytest.fixture
def base(tmp_path):
    """The study in a repository: the source as committed and tagged v1, and changed since."""
    make_study(tmp_path, task="kettle", text=KETTLE)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "brew as it was")
    git(tmp_path, "tag", "v1")
    return write_tree(tmp_path, {"brew/SKILL.md": LATER})


def planned(base):
    return freeze(load_study(base / "study.yaml"), base, find_skill=GivenSkills(base))


def two_versions(base):
    edit(
        base,
        "  - name: baseline\n    variant: baseline\n",
        "  - {name: old, skill: {path: brew, revision: v1}}\n  - {name: new, skill: brew}\n",
    )
    edit(base, "treatment: baseline, control: no_skill", "treatment: new, control: old")
    return planned(base)


def test_a_skill_by_revision_is_that_of_the_commit_and_one_by_path_that_on_disk(base):
    plan = two_versions(base)
    old, new = plan.tasks[0].given.values()
    assert len(old.commit) == 40
    assert new.commit is None
    folder = StudyFolder(base / "out")
    kept = GivenSkills(base).save(folder, plan.tasks[0])
    assert (folder.offered("kettle", "old") / "brew/SKILL.md").read_text() == SKILL
    assert (folder.offered("kettle", "new") / "brew/SKILL.md").read_text() == LATER
    assert {name: one.tree_digest for name, one in kept.items()} == {
        "old": old.tree_digest,
        "new": new.tree_digest,
    }
    assert digest_tree(folder.offered("kettle", "new")) == load_bundle(base / "brew").digest


def test_what_a_skill_shares_with_the_one_before_is_counted(base):
    plan = two_versions(base)
    folder = StudyFolder(base / "out")
    GivenSkills(base).save(folder, plan.tasks[0])
    old, new = given_rows(folder, plan)
    assert (old.compared_with, old.units) == (None, None)
    assert (new.compared_with, new.altered) == ("old", 1)
    assert new.units is not None
    assert (new.shared, new.own_units) == (new.units, new.units + 1)


def test_a_revision_that_moved_and_a_skill_that_changed_are_named(base):
    edit(base, "variant: baseline", "skill: {path: brew, revision: main}")
    before = planned(base)
    git(base, "commit", "-qam", "longer")
    assert changed_fields(before, planned(base)) == [
        "task kettle: given.baseline.commit",
        "task kettle: given.baseline.tree_digest",
    ]


def test_a_folder_that_is_gone_is_still_in_its_revision(base):
    shutil.rmtree(base / "brew")
    found = GivenSkills(base)(SkillSource(path="{task}", revision="v1"), "brew")
    assert found.path == "brew"
    write_tree(base, {"brew/SKILL.md": SKILL})
    assert found.tree_digest == load_bundle(base / "brew").digest


@pytest.mark.parametrize(
    ("source", "error", "said"),
    [
        (
            SkillSource(path="brew", revision="v9"),
            BundleError,
            r"'v9:.*brew' is not an existing folder, nor .* \(PATH starts at its top\)",
        ),
        (
            SkillSource(path="steep", revision="v1"),
            BundleError,
            "'v1:.*steep' is not an existing folder",
        ),
        (SkillSource(path="steep"), BundleError, "no folder or zip file at"),
        (SkillSource(path="{task}/tests"), StudyError, "'kettle/tests' .* has no SKILL.md"),
    ],
)
def test_what_is_no_skill_is_named(base, source, error, said):
    with pytest.raises(error, match=said):
        GivenSkills(base)(source, "kettle")


def test_another_skill_in_its_place_is_refused(base):
    plan = two_versions(base)
    folder = StudyFolder(base / "out")
    GivenSkills(base).save(folder, plan.tasks[0])
    write_tree(folder.offered("kettle", "old"), {"brew/SKILL.md": LATER})
    with pytest.raises(
        StudyError, match="differs from the Skill of condition 'old' of task 'kettle'"
    ):
        GivenSkills(base).save(folder, plan.tasks[0])
