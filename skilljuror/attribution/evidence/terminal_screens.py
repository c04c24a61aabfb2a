"""Outputs that are a picture of a terminal: prompts, echoed commands, empty rows at the end."""

HEADERS = ("New Terminal Output:", "Current Terminal Screen:", "Current terminal state:")
_PROMPT_ENDS = ("# ", "$ ", "% ", "> ")


def is_screen(text: str) -> bool:
    """Whether an output is a picture of a terminal."""
    return text.lstrip().startswith(HEADERS)


def screen_output(text: str, command: str) -> str:
    """What a command printed on a screen; the whole screen when its echo is not to be seen."""
    lines = text.strip().split("\n")[1:]
    while lines and not lines[-1].strip():
        lines.pop()
    first = command.strip().split("\n")[0].rstrip()
    at = next((n for n, line in enumerate(lines) if first and _echoes(line, first)), None)
    if at is None:
        return "\n".join(lines)
    prompt = _prompt(lines[at], first)
    shown = lines[at + 1 :]
    end = next(
        (n for n, line in enumerate(shown) if prompt and _is_prompt(line, prompt)), len(shown)
    )
    return "\n".join(shown[:end])


def _echoes(line: str, command: str) -> bool:
    """A line with the command after a prompt; a long command is broken by the screen's width."""
    head, found, _ = line.partition(command[:60])
    return bool(found) and (not head or head.endswith(_PROMPT_ENDS))


def _prompt(line: str, command: str) -> str:
    return line.partition(command[:60])[0].rstrip()


def _is_prompt(line: str, prompt: str) -> bool:
    return line.rstrip() == prompt or line.startswith(prompt + " ")
