import pytest

from skilljuror.skill.units.extract import units_of
from tests.support.knowledge_bundles import skill


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
