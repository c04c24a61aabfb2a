"""What the converter of one agent leaves of its results."""

import pytest

from tests.support.atif_documents import agent_step, document, read_document, tool_call


@pytest.mark.parametrize(
    ("content", "code", "ok", "clean"),
    [
        ("out\n[The command completed with exit code 0.]\n[Current working directory: /a]", 0, True, "out"),
        ("no\n[The command completed with exit code 2.]", 2, False, "no"),
        ("x [The command completed with exit code 2.] y", None, None, None),
        ("ERROR:\nno such file", None, False, None),
    ],
)  # fmt: skip
def test_what_openhands_tells_of_a_command(tmp_path, content, code, ok, clean):
    step = agent_step(
        "",
        tool_call("a", name="execute_bash"),
        results=[{"source_call_id": "a", "content": content}],
    )
    result = read_document(tmp_path, document(step, agent="openhands")).steps[0].calls[0].result
    assert (result.exit_code, result.ok, result.clean) == (code, ok, clean)
