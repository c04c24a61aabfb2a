"""Paths that Python expressions stand for."""

import ast

import pytest

from skilljuror.events.python.path_values import PathValues


@pytest.mark.parametrize(
    ("expression", "path"),
    [
        ("'a/b'", "a/b"),
        ("Path('/a') / 'b' / 'c.md'", "/a/b/c.md"),
        ("os.path.join('/a', 'b')", "/a/b"),
        ("Path('/a').joinpath('b', 'c')", "/a/b/c"),
        ("str(Path('/a').resolve())", "/a"),
        ("f'{BASE}/x.md'", "/base/x.md"),
        ("BASE + '/x.md'", "/base/x.md"),
        ("Path(BASE) / f'{NAME}.md'", None),
        ("os.path.expanduser('~/x')", "~/x"),
        ("Path('~/x').expanduser()", "~/x"),
        ("Path.home() / '.claude'", "/h/.claude"),
        ("open('a')", None),
        ("1 + 2", None),
    ],
)
def test_the_path_of_an_expression(expression, path):
    values = PathValues("/h", {"BASE": "/base"})
    assert values.of(ast.parse(expression, mode="eval").body) == path


def test_the_first_path_of_a_name_counts():
    values = PathValues(None)
    for node in ast.parse("p = '/a'\np = '/b'\nq = r = '/c'\ns = p + '/d'").body:
        assert isinstance(node, ast.Assign)
        values.assign(node)
    assert values.names == {"p": "/a", "s": "/a/d"}
