"""Outputs that are terminal screens: prompts, echoed commands, empty rows at the end."""

_SCREEN_STARTS = (
    "New Terminal Output:", "Current Terminal Screen:", "Current terminal state:",
)  # fmt: skip
_PROMPT_ENDS = ("# ", "$ ", "% ", "> ")
_ECHOED = 60
"""Characters of a command that its echo shows; the screen wraps long ones."""


def is_screen(text: str) -> bool:
    return text.lstrip().startswith(_SCREEN_STARTS)


def screen_output(text: str, command: str) -> str:
    """Output of a command on a screen; the whole screen if its echo is missing."""
    lines = text.strip().split("\n")[1:]
    while lines and not lines[-1].strip():
        lines.pop()
    typed = command.strip().split("\n")[0].rstrip()[:_ECHOED]
    echo = next((n for n, line in enumerate(lines) if typed and _is_echo(line, typed)), None)
    if echo is None:
        return "\n".join(lines)
    prompt = lines[echo].partition(typed)[0].rstrip()
    printed = lines[echo + 1 :]
    for at, line in enumerate(printed):
        if prompt and (line.rstrip() == prompt or line.startswith(prompt + " ")):
            return "\n".join(printed[:at])
    return "\n".join(printed)


def _is_echo(line: str, typed: str) -> bool:
    """Whether a line is a command after a prompt."""
    prompt, echoed, _ = line.partition(typed)
    return bool(echoed) and (not prompt or prompt.endswith(_PROMPT_ENDS))
