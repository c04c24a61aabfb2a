"""The bytes of a step are those of its texts put together, however its arguments are spelled."""

from hypothesis import given
from hypothesis import strategies as st

from skilljuror.base.trajectory import Step, ToolCall, ToolResult
from skilljuror.measures.metrics.process import step_bytes, step_texts

TEXT = st.text(st.characters(), max_size=20)
PLAIN = st.none() | st.booleans() | st.integers() | TEXT
VALUES = (
    PLAIN | st.floats() | st.lists(PLAIN, max_size=3) | st.dictionaries(TEXT, PLAIN, max_size=2)
)


@given(
    said=TEXT,
    calls=st.lists(
        st.tuples(st.dictionaries(TEXT, PLAIN) | st.dictionaries(TEXT, VALUES), TEXT, TEXT),
        max_size=3,
    ),
)
def test_bytes_are_those_of_the_texts(said, calls):
    step = Step(
        agent="main",
        index=1,
        line=1,
        text=said,
        calls=tuple(
            ToolCall(
                None,
                "Bash",
                "shell",
                1,
                command=asked,
                arguments=given,
                result=ToolResult(shown, 2),
            )
            for given, asked, shown in calls
        ),
    )
    whole = "\n".join(part for part in step_texts(step) if part)
    assert step_bytes(step) == len(whole.encode("utf-8", "surrogatepass"))
