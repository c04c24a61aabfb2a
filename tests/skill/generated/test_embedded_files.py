"""Files that a flat page carries, with the sentence that says to write them out and without."""

import pytest

from skilljuror.skill.generated.embedded_files import embedded_files
from skilljuror.skill.generated.templates import fill_template
from skilljuror.skill.markdown.block_index import MarkdownIndex

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
