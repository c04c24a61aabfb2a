import pytest

from skilljuror.base.errors import StudyError
from skilljuror.study.study_file import load_study
from tests.support.studies import edit, plan_of


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("seed: 3", "seed: many", "field 'seed': Input should be a valid integer"),
        ("name: tea", "nome: tea", "field 'name': Field required; add it"),
        ("seed: 3", "seeds: 3", "field 'seeds': .*known fields: format_version, name, seed"),
        ("path: kettle", "folder: kettle", r"field 'tasks\.0\.path': Field required"),
        ("skills: brew", "skill: brew", r"field 'tasks\.0\.skill': .*path, skills, attributes"),
        ("name: tea", "name: Tea time", "field 'name': invalid name 'Tea time'; use"),
        ("seed: 3", "seeed: 3", "field 'seeed': unknown; did you mean 'seed'"),
        ("variant: baseline", "variant: baseline\n    skill: brew", "both a variant and a skill"),
        (
            "name: no_skill",
            "name: pd\n    skill: brew\n  - name: b\n    variant: pd",
            "'pd' offers an unchanged Skill but has the name of a variant",
        ),
        ("path: kettle", 'path: "pots/*"', r"no folder matches 'pots/\*'"),
        (
            "variant: baseline",
            "variant: baseline\n    effort: high",
            r"'no_skill' and 'baseline' differ in effort \(none, high\).* but the study varies skill; make",
        ),
        (
            "seed: 3",
            "vary: [model]",
            r"differ in skill \(none, baseline\).* but the study varies model; make",
        ),
        ("seed: 3", "margin: 0", "field 'margin'"),
        ("variant: baseline", "skill: {path: b, revison: v1}", "did you mean 'revision'"),
        ("variant: baseline", "skill: {path: b, revision: 1.2}", "got 1.2; write it in quotes"),
        ("seed: 3", "format_version: 2", "unsupported version 2; upgrade skilljuror"),
        ("seed: 3", "harness: {timeout_sec: .inf}", "field 'harness.timeout_sec': .*finite"),
        ("conditions:", "conditions: all\nx:", "field 'conditions': must be a list"),
        ("seed: 3", "seed: 3\nseed: 4", "duplicate key 'seed'"),
        ("seed: 3", "seed: [", "invalid YAML"),
        ("seed: 3", "agent: &a {options: {b: *a}}", "aliases are unsupported.*, line 2"),
        ("seed: 3", "? [a]\n: 1", "invalid YAML|field"),
        ("path: kettle", "path: pot", "task 'pot': folder '.*' not found"),
        (
            "skills: brew",
            "skills: steep",
            r"skills source 'steep' not found \(needed by baseline\)",
        ),
        ("control: no_skill", "control: nothing", "unknown condition 'nothing'; choose one of"),
        ("control: no_skill", "control: baseline", "compared with itself"),
        ("name: no_skill", "name: baseline", "duplicate condition 'baseline'"),
        (
            "path: kettle",
            "path: kettle\n    skills: brew\n  - path: kettle/",
            "duplicate task 'kettle'",
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
