"""Sections of a report and the queries that each one shows."""

from typing import NamedTuple


class Panel(NamedTuple):
    """One table on the page."""

    query: str
    """Name of the question."""
    columns: tuple[str, ...] = ()
    """Columns shown on the page; empty means all. The CSV has all columns."""
    limit: int = 100
    """Rows shown on the page."""
    folded: bool = False
    """Whether the table is collapsed initially."""
    needs: str = ""
    """Column without any value of which the table is left out; "" keeps a table without rows."""


class Section(NamedTuple):
    """One part of the page."""

    anchor: str
    """Id in the page."""
    title: str
    """Heading."""
    lead: str
    """Introduction: what the section shows and how to read it."""
    panels: tuple[Panel, ...]
    """Its tables."""
    figures: tuple[str, ...] = ()
    """Names of its figures."""
    remarks: tuple[str, ...] = ()
    """Names of remarks shown before its tables (`remarks.REMARKS`)."""


TOKENS = Panel(
    "context_tokens",
    ("condition", "agent", "skill", "source", "basis", "measured", "tokens", "share", "uncached", "cached"),
    limit=40, folded=True, needs="tokens",
)  # fmt: skip
RESIDENCY = Panel("residency", needs="resident_share")
COMPACTED = Panel("compacted_files", limit=40, folded=True, needs="held")

JUDGE = Section(
    "judge", "How far to trust the judge",
    "Uptake is judged, and judges make errors. This section shows who judged, who checked the judge, "
    "the rates after correction for its errors, and what this check cannot detect.",
    (
        Panel("uptake_differences"),
        Panel("uptake_rates", (
            "judge", "condition", "tasks", "events", "labels", "judge_rate", "judge_rate_reason",
            "judge_rate_low", "judge_rate_high", "corrected_rate", "corrected_rate_reason",
            "corrected_rate_low", "corrected_rate_high", "adjusted_rate", "adjusted_rate_reason",
        )),
        Panel("judge_accuracy"),
        Panel("judge_card", (
            "judge", "models", "prompts", "events", "coverage", "by_proof", "by_model", "unknown",
            "unparsed", "unverified_quote", "labelled", "blind", "reviewers",
        )),
        Panel("rater_agreement", folded=True),
        Panel("labelled_uses", (
            "judge", "condition", "task", "event", "label", "category", "person", "labels",
            "reviewers", "blind", "weight",
        ), folded=True),
    ),
    remarks=("contrast_coverage", "judge_trust"),
)  # fmt: skip
"""The judge card."""

STUDY = (
    Section(
        "rq1", "RQ1 · Are the variants comparable?",
        "Layouts can only be compared if the variants contain the same knowledge. The gates compare every "
        "variant with the source, unit by unit; accepted variants differ only in layout.",
        (
            Panel("gates"),
            Panel("rubric_counts", (
                "variant", "item", "asks", "items", "code_yes", "code_no", "judged", "yes", "negative",
                "overridden", "rejected", "unresolved", "unanswered", "accepted",
            )),
            Panel("gate_power", (
                "kind", "policy", "assayed", "builds", "planted", "flagged", "failed",
                "flagged_rate", "flagged_rate_reason", "sources", "rate_low", "rate_high", "equivalent",
            )),
            Panel("assay", (
                "kind", "mutation", "planted", "flagged", "failed", "flagged_rate",
                "flagged_rate_reason", "sources", "rate_low", "rate_high", "equivalent",
            ), folded=True),
            Panel("variant_sizes"),
            Panel("given_skills"),
            Panel("skill_leaks", folded=True),
            Panel("finding_counts"),
            Panel("adjudications", folded=True),
            Panel("variants", (
                "build", "variant", "files", "support_files", "tokens", "tokens_of_source",
                "root_lines", "root_share", "verdict", "layers", "waivers",
            ), folded=True),
            Panel("rubric_items", folded=True),
            Panel("findings", folded=True),
            Panel("builds", folded=True),
        ),
        remarks=("gate_power",),
    ),
    Section(
        "rq2", "RQ2 · Does layout change outcome and cost?",
        "The outcome is the share of strict passes among all planned trials. The next table shows the cost "
        "of an attempt, a success and a pass: a layout can be better on one and worse on another.",
        (
            Panel("outcomes", (
                "condition", "planned", "coverage", "strict_passes", "strict_rate", "delta_passes",
                "broad_rate", "mean_reward", "runtime_rate", "strict_given_runtime",
            )),
            Panel("effect"),
            Panel("sections", needs="verdict"),
            Panel("efficiency", (
                "condition", "resource", "unit", "coverage", "attempt", "attempt_reason", "success",
                "success_reason", "yield", "yield_reason",
            )),
            Panel("yields"),
            Panel("ratios"),
            Panel("gains", folded=True),
            TOKENS,
            Panel("win_tie_loss"),
            Panel("sensitivity"),
            Panel("failures", needs="label"),
            Panel("checks", (
                "task", "check", "class", "class_reason", "treatment_runs", "control_runs", "treatment_rate",
                "control_rate", "delta_rate", "points", "criterion", "unit", "judge",
            ), limit=40, folded=True, needs="check"),
            Panel("task_deltas", (
                "task", "treatment_passes", "treatment_trials", "control_passes", "control_trials",
                "delta_passes", "delta_rate", "result",
            ), folded=True),
            Panel("rubric_scores", (
                "item_group", "task", "treatment_score", "control_score", "delta", "low", "high",
                "interval_reason", "pairs", "treatment_unjudged", "control_unjudged", "dropped",
            ), limit=40, needs="pairs"),
        ),
        ("task_deltas",),
        ("contrast_coverage", "roots_cut", "price_dates"),
    ),
    Section(
        "rq3", "RQ3 · How does layout change the way agents work?",
        "The first tables count the resources that agents accessed, by fixed rules over the logs. Uptake "
        "goes further: does later work show what a resource said?",
        (
            Panel("process", (
                "condition", "readable", "skill_step_share", "skill_token_share", "skill_text_share",
                "support_read_trials", "script_trials", "helper_trials", "fanout", "fanout_support",
            )),
            Panel("contrasts"),
            Panel("exposure"),
            Panel("timing"),
            Panel("process_rates", folded=True),
            Panel("uptake", (
                "condition", "judge", "trajectories", "events", "coverage", "yes", "no", "unknown",
                "open", "eru_low", "eru_high", "without_navigation_low", "without_navigation_high",
                "mean_events", "mean_yes_low", "mean_yes_high", "ge1_yes_low", "ge1_yes_high",
                "ge2_yes_low", "ge2_yes_high", "ge5_yes_low", "ge5_yes_high",
            )),
            Panel("cascade", (
                "judge", "events", "decided_free", "decided_by_model", "unknown", "asked",
                "insufficient_context", "unverified_quote", "unparsed", "rechecked", "agreement",
                "usd_spent", "usd_saved_estimate",
            )),
            Panel("invocation"),
            Panel("activation", needs="trials"),
            Panel("root_shown"),
            RESIDENCY,
            COMPACTED,
            Panel("invocation_by_skill", folded=True),
            Panel("uptake_reasons", folded=True),
            Panel("fanout_by_resource", folded=True),
            Panel("resources", folded=True),
            Panel("events_by_kind", folded=True),
            Panel("never_opened", folded=True),
            Panel("harm", limit=40, folded=True, needs="failing_with"),
            Panel("evidence", (
                "run", "step", "line", "skill", "resource", "kind", "ok", "label", "category",
                "source_quote", "action_quote",
            ), folded=True, limit=60),
        ),
        ("timing_bins", "exposure_curve"),
        ("contrast_coverage", "unknown_tools"),
    ),
    Section(
        "rq4", "RQ4 · Where does uptake turn into success?",
        "Tasks are grouped by workflow and by validation. In the upper right, agents used more and solved "
        "more; in the lower right, they used more and solved less.",
        (
            Panel("interactions"),
            Panel("patterns", (
                "attribute", "value", "tasks", "pattern", "pattern_reason", "delta_pass", "delta_low",
                "delta_high", "delta_yes_low", "delta_yes_high", "minutes_per_pass_ratio",
            )),
            Panel("strata", (
                "attribute", "value", "tasks", "treatment_passes", "control_passes", "delta_pass",
                "delta_runtime", "delta_yes_low", "delta_yes_high", "delta_events", "delta_fanout",
            )),
            Panel("harm_codes", needs="code"),
        ),
        ("strata",),
        ("contrast_coverage",),
    ),
    JUDGE,
    Section(
        "coverage", "Coverage and exclusions",
        "Every planned trial counts. Missing, unusual and contaminated trials are listed here.",
        (
            Panel("setup"),
            Panel("task_set"),
            Panel("excluded_tasks"),
            Panel("coverage"),
            Panel("attempts"),
            Panel("provenance"),
            Panel("quality_flags"),
            Panel("leaks"),
            Panel("source_counts"),
            Panel("nulls", folded=True),
            Panel("metrics", folded=True, limit=200),
            Panel("trials", (
                "trial", "status", "reward", "minutes", "agent_steps", "skill_steps", "fanout",
                "exception",
            ), folded=True),
        ),
    ),
)  # fmt: skip
"""A study with trials."""

OBSERVED = (
    Section(
        "found", "Files read",
        "Every file that was examined, by result. The rest of the report uses parsed files only.",
        (
            Panel("source_counts"),
            Panel("trajectories", (
                "trajectory", "format", "agent", "model", "started_at", "minutes", "steps", "uses",
                "skills_opened",
            ), folded=True),
            Panel("sources", folded=True),
        ),
    ),
    Section(
        "skills", "Skills opened",
        "An offered skill is not yet an opened one. A skill counts as opened if any of its files was "
        "activated, read, run or imported.",
        (
            Panel("skills_opened", limit=30),
            Panel("by_skill", (
                "skill", "week", "offered", "opened", "unknown", "open_rate", "unlisted", "opened_unlisted",
                "uptake_low", "uptake_high", "eru_low", "eru_high", "uses", "failed", "tokens_shown",
            ), limit=60, folded=True),
            Panel("invocation_by_skill", (
                "skill", "known", "invoked", "invocation_rate", "by_skill_tool", "by_slash",
                "by_read_tool", "by_shell", "by_python", "by_injected", "by_reinjected",
            ), limit=40, folded=True),
            Panel("resources", (
                "skill", "resource", "resource_class", "events", "trajectories", "first_step", "yes",
                "no", "unknown", "eru_low", "eru_high",
            ), limit=40),
            Panel("never_opened", ("skill", "resource", "runs", "unknown"), folded=True),
        ),
        ("skills_opened",),
        ("unknown_tools",),
    ),
    Section(
        "ends", "Trial outcomes",
        "The outcome is known if the harness stored its result with the log; other logs are not in this "
        "table. Trials with an unreadable log count here but not in tables about steps or events.",
        (
            Panel("observed_outcomes", limit=40),
            Panel("observed_trials", (
                "trial", "task", "agent", "model", "reward", "exception", "message", "logged", "steps",
                "uses", "reason",
            ), limit=200, folded=True),
        ),
    ),
    Section(
        "when", "When skills were used",
        "Runs differ in length, so positions are fractions of a run: 0 is the first step, 1 the last.",
        (
            Panel("timing"),
            Panel("invocation", (
                "readable", "invoked", "invocation_rate", "never", "median_step", "median_seconds",
            )),
            RESIDENCY,
            COMPACTED,
            TOKENS,
            Panel("first_use", folded=True),
        ),
        ("skill_timing",),
    ),
    Section(
        "uptake", "Uptake",
        "An opened resource may have no effect. A judge looks for its words, numbers and commands in "
        "later steps.",
        (
            Panel("uptake", (
                "judge", "trajectories", "events", "coverage", "yes", "no", "unknown",
                "open", "eru_low", "eru_high", "without_navigation_low", "without_navigation_high",
                "mean_events", "mean_yes_low", "mean_yes_high", "ge1_yes_low", "ge1_yes_high",
            )),
            Panel("cascade", (
                "judge", "events", "decided_free", "decided_by_model", "unknown", "asked",
                "insufficient_context", "unverified_quote", "unparsed", "rechecked", "agreement",
                "usd_spent", "usd_saved_estimate",
            )),
            Panel("uptake_reasons"),
            Panel("process", (
                "readable", "skill_step_share", "skill_text_share", "support_read_trials",
                "script_trials", "helper_trials", "fanout",
            )),
        ),
    ),
    JUDGE._replace(panels=JUDGE.panels[1:]),  # no arms to compare
    Section(
        "evidence", "Evidence",
        "Every use with its line in the raw log, counted from 1.",
        (
            Panel("events_by_kind"),
            Panel("evidence", (
                "run", "agent", "step", "line", "skill", "resource", "kind", "ok", "quote", "label",
                "action_quote",
            ), folded=True),
            Panel("nulls", folded=True),
            Panel("metrics", folded=True, limit=200),
        ),
    ),
)  # fmt: skip
"""Logs without a study."""
