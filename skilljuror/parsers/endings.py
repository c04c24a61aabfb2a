"""Whether a session file goes on to its end: few formats write that a run is over.

A log that was copied while its agent ran, or whose agent was killed, can end with a whole line.
What tells is that somebody still waits: a call for its result, a result or a prompt for an answer.
"""

from skilljuror.parsers.drafts import MAIN, RunDraft


def is_answered(run: RunDraft) -> bool:
    """Whether the main agent's last step closes the log; a log without any step is no answer.

    A note of the harness after it (an interruption, a local command) closes it too.
    """
    steps = [step for step in run.steps if step.agent == MAIN]
    later = [one for one in run.messages if one.agent == MAIN and one.step == len(steps)]
    if later and later[-1].kind == "other":
        return True
    if not steps or any(one.kind == "prompt" for one in later):
        return False
    return not steps[-1].calls
