import pytest

from skilljuror.audit.comparison.shell_syntax import is_syntax


@pytest.mark.parametrize(
    "code", ["fi", "done", "}", "else", "if [ -f setup.py ]; then", "elif [[ -d src ]]; then", "test -f x"]
)  # fmt: skip
def test_a_line_that_runs_nothing(code):
    assert is_syntax(code)


@pytest.mark.parametrize(
    "code",
    ["if grep -q x file; then", "[ -f x ] && rm x", "final()", "do_it", "--in-place", "pytest -x"],
)
def test_a_line_that_runs_something(code):
    assert not is_syntax(code)
