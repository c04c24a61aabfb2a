"""Where the targets of links stand in a line."""

import pytest

from skilljuror.layouts.editing import rewrite_links


@pytest.mark.parametrize(
    ("line", "targets"),
    [
        ("[a](<x y.md>)", ["x y.md"]),
        ("[a](x(1).md) and [b](y.md)", ["x(1).md", "y.md"]),
        ("[a](x\\(1.md)", ["x(1.md"]),
        ("[a](x.md (title)) (aside)", ["x.md"]),
        ("[a](x.md 'it (a)')", ["x.md"]),
        ("`[a](x.md)` [b](y.md)", ["y.md"]),
        ("[a]: <x y.md> 'T'", ["x y.md"]),
        ("[a](x(1.md)", []),
    ],
)
def test_the_targets_of_a_line_are_found(line: str, targets: list[str]) -> None:
    found: list[str] = []
    assert rewrite_links(line, lambda target: found.append(target)) == line
    assert found == targets
