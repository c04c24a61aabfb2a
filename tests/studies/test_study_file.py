import pytest

from skilljuror.errors import StudyError
from skilljuror.studies.study_file import load_study
from tests.support.tea_study import edit, plan_of


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("seed: 3", "seed: many", "field 'seed': Input should be a valid integer"),
        ("name: tea", "nome: tea", "field 'name': Field required; add it"),
        ("seed: 3", "seeds: 3", "field 'seeds': .*known fields: format_version, name, seed"),
        ("path: kettle", "folder: kettle", r"field 'tasks\.0\.path': Field required"),
        ("skills: brew", "skill: brew", r"field 'tasks\.0\.skill': .*path, skills, attributes"),
        ("name: tea", "name: Tea time", "field 'name': 'Tea time' is no short name; use"),
        ("seed: 3", "seeed: 3", "field 'seeed': unknown; did you mean 'seed'"),
        ("variant: baseline", "variant: baseline\n    skill: brew", "both a variant and a skill"),
        (
            "name: no_skill",
            "name: pd\n    skill: brew\n  - name: b\n    variant: pd",
            "'pd' gives a Skill as it is, and a variant is called so",
        ),
        ("path: kettle", 'path: "pots/*"', r"no folder fits 'pots/\*'"),
        (
            "variant: baseline",
            "variant: baseline\n    effort: high",
            r"'no_skill' and 'baseline' differ in effort \(none, high\).* lets vary skill; make",
        ),
        ("seed: 3", "vary: [model]", r"differ in skill \(none, baseline\).* lets vary model; make"),
        ("seed: 3", "margin: 0", "field 'margin'"),
        ("variant: baseline", "skill: {path: b, revison: v1}", "did you mean 'revision'"),
        ("variant: baseline", "skill: {path: b, revision: 1.2}", "got 1.2; write it in quotes"),
        ("seed: 3", "format_version: 2", "reads 1, got 2; upgrade skilljuror"),
        ("seed: 3", "harness: {timeout_sec: .inf}", "field 'harness.timeout_sec': .*finite"),
        ("conditions:", "conditions: all\nx:", "field 'conditions': must be a list"),
        ("seed: 3", "seed: 3\nseed: 4", "'seed' is given twice"),
        ("seed: 3", "seed: [", "not YAML"),
        ("seed: 3", "agent: &a {options: {b: *a}}", "aliases are not taken.*, line 2"),
        ("seed: 3", "? [a]\n: 1", "not YAML|field"),
        ("path: kettle", "path: pot", "task 'pot': no folder"),
        ("skills: brew", "skills: steep", "no skills source at 'steep', needed by baseline"),
        ("control: no_skill", "control: nothing", "unknown condition 'nothing'; choose one of"),
        ("control: no_skill", "control: baseline", "compared with itself"),
        ("name: no_skill", "name: baseline", "two conditions are called 'baseline'"),
        (
            "path: kettle",
            "path: kettle\n    skills: brew\n  - path: kettle/",
            "two tasks are called 'kettle'",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_line(base, before, after, said):
    edit(base, before, after)
    with pytest.raises(StudyError, match=said) as caught:
        plan_of(base)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("content", [b"", b"- a", b"\xff\xfe", b"name: !!python/object:os.x {}"])
def test_a_file_that_is_no_study_is_refused(tmp_path, content):
    (tmp_path / "study.yaml").write_bytes(content)
    with pytest.raises(StudyError, match=r"study\.yaml: "):
        load_study(tmp_path / "study.yaml")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(StudyError, match="no such file"):
        load_study(tmp_path / "absent.yaml")


def test_comments_and_order_of_keys_change_nothing(base):
    before = plan_of(base).config_digest
    edit(base, "name: tea\nseed: 3", "seed: 3 # lucky\nname: tea")
    assert plan_of(base).config_digest == before
