"""Pages that show commands and their output are followed word by word."""

import pytest

from tests.support.doc_pages import fenced_blocks, follow_page
from tests.support.places import ROOT

pytestmark = pytest.mark.slow

PAGES = [
    page
    for page in sorted((ROOT / "docs").glob("*.md"))
    if any(block.language == "console" for block in fenced_blocks(page))
]
WRONG = """
```python file=hello.py
print("hello")
```
```console{status}
$ python hello.py
{output}
```
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(page, tmp_path):
    folder = tmp_path / "reader"
    folder.mkdir()
    follow_page(page, folder)


@pytest.mark.parametrize(
    ("status", "output"),
    [("", "hullo"), ("", "hello\nhello"), ("", ""), (" status=2", "hello")],
    ids=["other text", "too much", "too little", "other status"],
)
def test_a_page_that_shows_something_else_is_refused(status, output, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(WRONG.format(status=status, output=output), encoding="utf-8")
    with pytest.raises(AssertionError, match="hello"):
        follow_page(page, tmp_path)


def test_dots_stand_for_anything_on_a_line_or_for_lines(tmp_path):
    page = tmp_path / "page.md"
    text = WRONG.replace("hello.py\n{output}", "hello.py hello.py; seq 9\nh…\n…\n8\n…\n9\n…")
    page.write_text(text.format(status=""), encoding="utf-8")
    follow_page(page, tmp_path)
