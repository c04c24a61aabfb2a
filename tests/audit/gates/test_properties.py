"""What holds for any bundle, hostile ones included."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.audit.audit import audit
from skilljuror.audit.gates import GATES
from tests.support.knowledge_bundles import bundle

LINES = st.sampled_from([
    "# A", "## B", "Text. Do not stop at 3.", "- item `x.py`", "1. step", "2. other", "| a | b |",
    "|---|---|", "| 1 | 2 |", "```bash", "```", "python x.py --fast", "", "[l](y.md#z)", "[r]: y.md",
    "<!-- c -->", "---", "## Supporting files", "- [y.md](y.md): read when the task involves A.",
    "## Helper implementation for `x.py`", "rm -rf out", "TODO", "\u202e", "    code",
])  # fmt: skip
TEXTS = st.lists(LINES, max_size=15).map("\n".join)


@settings(max_examples=60)
@given(root=TEXTS, other=TEXTS, script=TEXTS)
def test_a_bundle_never_differs_from_itself(root, other, script):
    same = bundle({"a/SKILL.md": root, "a/y.md": other, "a/x.py": script})
    result = audit(same, same, "other", "strict")
    assert result.own == ()
    assert result.verdict == "pass"


@settings(max_examples=60)
@given(root=TEXTS, other=TEXTS)
def test_every_pair_gets_an_answer_from_every_gate(root, other):
    result = audit(bundle({"a/SKILL.md": root}), bundle({"b/SKILL.md": other}), "pd", "rewritten")
    assert [answer.gate for answer in result.results] == list(GATES)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "[", "> ", "- ", "`", "*", "| a ", "<!--", "curl ", "a/", "](", "1. ", "\\", "&", "https://",
        "../", "./", ".", "0", "@/", ".a/",
    ],
)  # fmt: skip
def test_hostile_text_takes_bounded_time(piece):
    hostile = bundle({"a/SKILL.md": "# A\n\n" + piece * 8_000, "a/x.py": piece * 20_000})
    start = time.perf_counter()
    audit(hostile, hostile, "pd", "strict")
    assert time.perf_counter() - start < 10
