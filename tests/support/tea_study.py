"""The study of a kettle: one task, one source, two arms."""

from skilljuror.studies.plan import freeze
from skilljuror.studies.study_file import load_study
from tests.support.harness_tasks import SKILL, make_task, write_tree

STUDY = """\
name: tea
seed: 3
trials_per_cell: 2
tasks:
  - path: kettle
    skills: brew
    attributes: {domain: garden}
conditions:
  - name: no_skill
  - name: baseline
    variant: baseline
contrast: {treatment: baseline, control: no_skill}
"""


def make_tea(folder):
    """The study with its task and source, in a folder."""
    make_task(folder / "kettle")
    return write_tree(folder, {"study.yaml": STUDY, "brew/SKILL.md": SKILL})


def plan_of(base):
    """The frozen plan of the study in a folder."""
    return freeze(load_study(base / "study.yaml"), base)


def edit(base, before, after):
    """Change a text of the study file."""
    text = (base / "study.yaml").read_text(encoding="utf-8")
    assert before in text
    (base / "study.yaml").write_text(text.replace(before, after), encoding="utf-8")
