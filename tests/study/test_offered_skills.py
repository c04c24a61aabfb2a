"""Skills of the map against what Harbor locked."""

import pytest

from skilljuror.base.errors import StudyError
from skilljuror.base.study import AdoptionMap
from skilljuror.study.condition_matching import match_trials
from skilljuror.study.offered_skills import offered_skills, unproved
from tests.support.harbor_jobs import harbor_job, lock_skill


@pytest.fixture
def skill(tmp_path):
    folder = tmp_path / "skills" / "kiln" / "ledger"
    (folder / "references").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: ledger\ndescription: Books.\n---\nRead on.\n")
    (folder / "references" / "a.md").write_text("Carry the sum.\n")
    return folder


def found(tmp_path, adoption):
    return match_trials([tmp_path / "jobs"], adoption)[0]


def map_with(skills):
    arm = {"name": "pd", "variant": "pd", "trials": "*", "skills": skills}
    return AdoptionMap.model_validate({"name": "mine", "conditions": [arm]})


@pytest.fixture
def adoption(tmp_path):
    harbor_job(tmp_path / "jobs", "pd-1", kiln={})
    return map_with("skills/{task}")


def test_what_was_locked_is_what_was_offered(tmp_path, adoption, skill):
    trials = found(tmp_path, adoption)
    lock_skill(trials[0].path, skill)
    offered = offered_skills(adoption, trials, tmp_path / "map.yaml")
    assert list(offered) == [("kiln", "pd")]
    assert list(offered["kiln", "pd"].files) == ["ledger/SKILL.md", "ledger/references/a.md"]
    assert list(unproved(trials, offered)) == []


def test_one_other_byte_is_refused(tmp_path, adoption, skill):
    trials = found(tmp_path, adoption)
    lock_skill(trials[0].path, skill)
    (skill / "references" / "a.md").write_text("Carry the sums.\n")
    with pytest.raises(StudyError, match=r"has other Skills .* its lock.json has ledger"):
        offered_skills(adoption, trials, tmp_path / "map.yaml")


def test_without_a_lock_nothing_is_proved(tmp_path, adoption, skill):
    trials = found(tmp_path, adoption)
    notes = list(unproved(trials, offered_skills(adoption, trials, tmp_path / "map.yaml")))
    assert notes == ["trials without a lock.json, so their Skills are unproved: 1"]


@pytest.mark.parametrize("name", ["{task}-{v1}", "a{b", "{0}"])
def test_other_braces_are_those_of_a_folder(tmp_path, adoption, skill, name):
    skill.parent.rename(tmp_path / "skills" / name.replace("{task}", "kiln"))
    offered = offered_skills(
        map_with(f"skills/{name}"), found(tmp_path, adoption), tmp_path / "map.yaml"
    )
    assert list(offered) == [("kiln", "pd")]
