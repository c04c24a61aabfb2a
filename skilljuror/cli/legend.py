"""What words in tables mean that nobody can guess: one line each, printed where they occur."""

from collections.abc import Iterable

LEGEND = {
    "ERU rate": "Effective Resource Uptake: the share of uses that became visible work, of those that"
    " could be decided; two ends (low, high) where nobody could decide some",
    "bundled": "the Skill belongs to the agent program itself",
    "events": "accesses of agents to resources of Skills, one resource in one call each",
    "uses": "events without those that only wrote or named the resource",
    "phantom": "a path under the Skill's folder that the Skill does not have",
    "fanout": "distinct resources that a run opened",
    "content_exposed": "how much of the resource's text the agent was shown",
    "over_read_limit": "too long for an agent to read at once (over 25,000 tokens)",
    "over_context": "too long for an agent to hold (over 100,000 tokens)",
    "implementation": "what the resource says was carried out",
    "validation": "what the resource says was used to check the work",
    "correction": "what the resource says mended something",
    "diagnosis": "what the resource says found a cause",
    "navigation": "it led to another resource that was opened",
    "failed_probe": "the access failed and showed nothing",
    "background": "shown, and only what every run is shown anyway",
    "listing": "a list of files, no text of a resource",
    "alias_check": "only looked whether the same file has another name",
    "nothing_distinctive": "what was shown says nothing by which a later use could be told",
    "not_shown": "the log does not hold what the agent was shown",
    "not_seen_again": "nothing of what was shown can be seen in later steps",
    "also_elsewhere": "what was used later stood in other places, too",
    "no_later_action": "the log ends before anything could be done with it",
    "insufficient_context": "the model could not tell from what the log shows",
    "unverified_quote": "the model said yes with a quote that is not in the log",
    "unparsed": "no usable answer of the model, after its retries",
}
"""Word -> what it means."""

_COLUMNS = {
    "eru_rate": "ERU rate",
    "eru_low": "ERU rate",
    "mean_events": "events",
    "feasibility": "over_read_limit",
}
"""Columns that hold a word of the legend under another name."""


def legend(words: Iterable[str]) -> list[str]:
    """A line for each of the words that needs one, in the order of the legend."""
    met = {_COLUMNS.get(word, word) for word in words}
    return [f"{word} = {meaning}" for word, meaning in LEGEND.items() if word in met]
