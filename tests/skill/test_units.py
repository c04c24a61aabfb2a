"""Units of text, and the files that a flat page carries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.base.skill import CONTENT_KINDS
from skilljuror.skill.generated import embedded_files, fill_template
from skilljuror.skill.markdown import MarkdownIndex
from skilljuror.skill.units import units_of
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


def leads(body):
    return {unit.text: unit.lead for unit in units_of(skill(body)) if unit.lead}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Use it when:\n- A\n- B\n\nText.\n", {"A": "Use it when:", "B": "Use it when:"}),
        ("One. **Use it when:**\n\n- A\n", {"A": "Use it when:"}),
        ("**Good**\n\n```python\nx = 1\n```\n", {"x = 1": "Good"}),
        ("Values:\n\n| a |\n|---|\n| 1 |\n", {"a": "Values:", "a: 1": "Values:"}),
        ("- Check\n  - A\n- Write\n", {"A": "Check"}),
        ("Do:\n1. Check:\n   ```text\n   x\n   ```\n2. Write\n",
         {"Check:": "Do:", "Write": "Do:", "x": "Check:"}),
        ("<Bad>\nThe mock is tested.\n</Bad>\n",
         {"<Bad>": "<Bad>", "The mock is tested.": "<Bad>", "</Bad>": "<Bad>"}),
    ], ids=["list", "bold", "label", "table", "item", "nested code", "tag"],
)  # fmt: skip
def test_what_introduces_a_text(body, expected):
    assert {text: lead for text, lead in leads(body).items() if "->" not in text} == expected


@pytest.mark.parametrize(
    "body",
    ["Text.\n\n- A\n", "Use it when:\n\nText.\n\n- A\n", "Use it when:\n\n## B\n\n- A\n",
     "**One** and **two**\n\n- A\n", "- A\n\nText.\n"],
    ids=["a sentence", "text between", "a heading between", "bold words", "after"],
)  # fmt: skip
def test_what_introduces_nothing(body):
    assert leads(body) == {}


def test_a_carried_page_keeps_its_own_leads():
    page = "# Ink\n\nUse it when:\n\n- A\n\n## B\n\n- C\n"
    body = f"## Reference content from `a.md`\n\n```markdown\n{page}```\n"
    assert leads(body) == leads(page) == {"A": "Use it when:"}


MARKER = "## Helper implementation for `scripts/a.py`\n"
FENCE = "\n```python\nprint(1)\n```\n"


def _files(between: str):
    return embedded_files(MarkdownIndex(f"# T\n\n{MARKER}{between}{FENCE}\n## More\n".split("\n")))


def _told(path: str) -> str:
    return f"\n{fill_template('write-out', {'path': path})}\n"


def test_a_file_is_recognised_with_the_sentence():
    (file,) = _files(_told("scripts/a.py"))
    assert (file.announced_at, file.opening, file.start, file.end) == (4, 4, 7, 8)
    assert file.blob.data == b"print(1)\n"


def test_a_file_of_another_tool_is_recognised_without_it():
    (file,) = _files("")
    assert (file.announced_at, file.opening) == (None, 4)
    assert file.blob.data == b"print(1)\n"


@pytest.mark.parametrize(
    "between",
    [
        _told("scripts/b.py"),
        "\nWrite this file out.\n",
        _told("scripts/a.py") * 2,
        f"{_told('scripts/a.py')}Never run it as root.\n",
    ],
)
def test_a_section_that_says_anything_else_is_no_file(between):
    assert _files(between) == ()


def test_a_marker_inside_another_file_is_text_of_that_file():
    page = f"# Reference content from `ref/a.md`\n\nProse.\n\n{MARKER}{FENCE}"
    (file,) = embedded_files(MarkdownIndex(page.split("\n")))
    assert file.path == "ref/a.md"
