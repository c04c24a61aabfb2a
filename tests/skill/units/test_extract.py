import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.base.skill import CONTENT_KINDS
from skilljuror.skill.units.extract import units_of
from tests.support.knowledge_bundles import bundle, skill


def texts(body, kind, **files):
    return [unit.text for unit in units_of(skill(body, **files)) if unit.kind == kind]


def test_sentences_carry_their_own_lines():
    units = units_of(skill("First one\ngoes on. Second\none. Third.\n"))
    places = [(u.text, u.start, u.end) for u in units if u.kind == "statement"]
    assert places == [("First one goes on.", 5, 6), ("Second one.", 6, 7), ("Third.", 7, 7)]


def test_a_code_span_over_two_lines_keeps_the_count():
    units = units_of(skill("Run `a\nb` now. Then stop.\n"))
    assert [(u.text, u.start) for u in units if u.kind == "statement"] == [
        ("Run `a b` now.", 5),
        ("Then stop.", 6),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Keep **three** copies.\n", "Keep three copies.\n"),
        ("Keep three\ncopies of it.\n", "Keep three copies of it.\n"),
        ("- Keep three copies.\n", "* Keep three copies.\n"),
        ("## Rules\n", "### Rules\n"),
        ("See [the rules](a.md).\n", "See [the rules](#rules).\n"),
        ("1. Start\n2. Stop\n", "1) Start\n2) Stop\n"),
        ("Rules\n=====\n", "# Rules\n"),
    ],
    ids=[
        "emphasis",
        "line break",
        "list marker",
        "heading level",
        "local link target",
        "step marker",
        "underlined heading",
    ],
)
def test_what_is_normalised(one, other):
    kinds = {"statement", "item", "heading", "step"}
    found = [
        [(u.kind, u.text) for u in units_of(skill(b)) if u.kind in kinds] for b in (one, other)
    ]
    assert found[0] == found[1] != []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Keep x > 3.\n", "Keep x < 3.\n"),
        ("Keep it.\n", "keep it.\n"),
        ("Use a-b.c\n", "Use ab.c\n"),
        ("See [it](https://a.example/x).\n", "See [it](https://a.example/y).\n"),
        ("Use `a_b`.\n", "Use `ab`.\n"),
    ],
    ids=["comparator", "case", "hyphen", "remote address", "code span"],
)
def test_what_is_never_normalised(one, other):
    assert texts(one, "statement") != texts(other, "statement")


def test_rows_are_bound_to_their_header():
    assert texts("| f | max |\n|---|---|\n| a | 3 |\n", "row") == ["f | max", "f: a | max: 3"]


def test_steps_go_on_after_a_code_block():
    body = "1. Open\n\n```\nx\n```\n\n2. Close\n"
    assert texts(body, "step") == ["Open -> Close"]


def test_a_heading_ends_a_procedure():
    assert texts("1. Open\n\n## Next\n\n2. Close\n", "step") == []


def test_commands_join_their_continuation_lines():
    body = "```bash\n$ run --a \\\n   'b c'\n# note\n```\n"
    assert texts(body, "command") == ["run --a b c"]


def test_fields_hold_their_continuation_lines():
    units = units_of(bundle({"a/SKILL.md": "---\nname: a\ndescription: >-\n  One.\n  Two.\n---\n"}))
    assert [(u.text, u.start, u.end) for u in units] == [
        ("name: a", 2, 2),
        ("description: >- One. Two.", 3, 5),
    ]


def test_a_heading_inside_a_list_opens_no_section():
    units = units_of(skill("# A\n\n- Odd:\n  -\n\nText.\n"))
    assert [(u.kind, u.headings) for u in units if u.text == "Odd:"] == [("item", ("A",))]
    assert [u.headings for u in units if u.text == "Text."] == [("A",)]


def test_schema_keys_are_paths():
    found = units_of(skill("", **{"c.yaml": "a:\n  b: 1\nc: 2\n"}))
    assert [u.text for u in found if u.kind == "schema"] == ["a", "a.b", "c"]


def test_links_keep_label_and_address():
    assert texts("See [one](a.md) and\n[two](b.md).\n", "link") == ["one -> a.md", "two -> b.md"]


def test_indentation_of_code_counts_and_that_of_its_fence_does_not():
    assert texts("```\na\n  b\n```\n", "code") == texts("- x\n\n  ```\n  a\n    b\n  ```\n", "code")


def test_an_embedded_file_gives_the_units_of_the_file():
    flat = "## Helper implementation for `run.py`\n\n```python\nimport sys\n```\n"
    inside = [u for u in units_of(skill(flat)) if u.kind in {"file", "code"}]
    beside = [u for u in units_of(skill("", **{"run.py": "import sys\n"})) if u.kind != "field"]
    assert [u.start for u in inside] == [8, 8]
    assert [u.text.removeprefix("demo/") for u in beside] == [u.text for u in inside]


def test_a_definition_and_a_comment_are_knowledge():
    body = "Text.\n\n[x]: https://a.example\n\n<!-- hidden note -->\n"
    assert texts(body, "statement") == ["Text.", "[x]: https://a.example", "<!-- hidden note -->"]


def test_data_is_one_unit_and_an_empty_file_is_none():
    found = units_of(skill("", **{"a.xsd": "<a/>\n<b/>\n", "b.py": " \n"}))
    assert [u.kind for u in found if u.kind != "field"] == ["file"]


def test_ids_are_unique_and_stable():
    body = "Again.\n\nAgain.\n"
    ids = [unit.unit for unit in units_of(skill(body))]
    assert len(set(ids)) == len(ids)
    assert ids == [unit.unit for unit in units_of(skill(body))]


LINES = st.sampled_from([
    "# A", "### B", "text. More text", "- item", "1. step", "  - deep", "> quote", "| a | b |",
    "|---|---|", "```", "```py", "~~~", "code = 1", "", "---", "<!-- c", "-->", "[x]: y", "[x]",
    "**bold** `span`", "    indented", "===", "<div>", "\u2028odd", "a\rb", "````markdown",
    "## Helper implementation for `x.py`", "## Reference content from `y.md`",
])  # fmt: skip


@given(st.lists(LINES, max_size=25))
def test_every_line_that_says_something_stands_in_a_unit(lines):
    units = units_of(bundle({"a/SKILL.md": "\n".join(lines)}))
    covered = {n for u in units if u.kind in CONTENT_KINDS for n in range(u.start, u.end + 1)}
    silent = {"```", "```py", "~~~", "````markdown", "---", "===", "|---|---|", ""}
    if "[x]" in lines or lines.count("[x]: y") > 1:  # the definition is in the text of its link
        silent.add("[x]: y")
    for number, line in enumerate(lines, 1):
        if line.strip() not in silent and line not in {"-->", "- ", "<!-- c", "<div>"}:
            assert number in covered, (number, line)


@given(st.lists(LINES, max_size=25))
def test_lines_lie_inside_the_file(lines):
    for unit in units_of(bundle({"a/SKILL.md": "\n".join(lines)})):
        assert 1 <= unit.start <= unit.end <= max(1, len(lines))


def test_a_definition_is_in_the_text_of_its_links():
    inline = units_of(skill("See [it](https://a.example/x), and [that](b.md).\n"))
    apart = units_of(skill("See [it][1], and [that].\n\n[1]: https://a.example/x\n[that]: b.md\n"))
    assert [unit.text for unit in inline] == [unit.text for unit in apart]


def test_headings_and_items_have_a_depth():
    text = "# A\n\n- one\n  - two\n\nText.\n\n### B\n"
    depths = {unit.text: unit.depth for unit in units_of(skill(text)) if unit.kind != "field"}
    assert depths == {"A": 1, "one": 1, "two": 2, "Text.": 0, "B": 3}
