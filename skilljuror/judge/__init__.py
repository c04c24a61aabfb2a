"""Judges: did an opened resource become visible work?"""

JUDGES = {
    "tracing": "skilljuror.judge.tracing:TracingJudge",
}
