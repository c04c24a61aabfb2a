"""A Skill that its author split into a root and reference files: moved text is moved whatever its markup."""

import pytest

from skilljuror.audit.audit import audit
from tests.support.knowledge_bundles import bundle

ROOT, PAGE = "kiln/SKILL.md", "kiln/references/firing.md"
HEAD = "---\nname: kiln\nversion: '1.0'\ndescription: Fires pots.\n---\n# Kiln\n\n"
DUTIES = "Never open the door above 300 degrees. Always wear gloves.\n"
LABELS = "Labels:\n\n- `raw`\n- `fired`\n- `never-fired`\n\n"
BEFORE = f"{HEAD}## Firing\n\n{DUTIES}\n{LABELS}## Cooling\n\nWait until the needle is below 90.\n"


def judged(root, page="", before=BEFORE, policy="rewritten"):
    files = {ROOT: root} | ({PAGE: page} if page else {})
    return audit(bundle({ROOT: before}), bundle(files), "unclaimed", policy)


def rules(result):
    return sorted({finding.rule for finding in result.own})


def test_a_list_made_a_sentence_says_the_same():
    result = judged(BEFORE.replace(LABELS, "Labels: `raw`, `fired`, `never-fired`.\n\n"))
    assert rules(result) == []


def test_a_label_made_a_heading_says_the_same():
    page = "# Firing\n\n## Always ensure one batch\n\nNever open the door.\n"
    result = judged(
        f"{HEAD}Read `references/firing.md` before you open the door.\n",
        page,
        f"{HEAD}**Always ensure one batch:**\n\nNever open the door.\n",
    )
    assert rules(result) == ["edit.routing"]


def test_a_list_made_a_sentence_is_seen_when_a_word_is_lost_or_turned():
    lost = judged(BEFORE.replace(LABELS, "Labels: `raw`, `fired`.\n\n"))
    turned = judged(BEFORE.replace("Always wear gloves.", "Never wear gloves."))
    assert lost.verdict == "review"
    assert turned.verdict == "fail"


def test_a_short_text_must_occur_as_often_as_before():
    """A word that also occurs elsewhere does not stand for a lost item."""
    result = judged(
        BEFORE.replace("- `fired`\n", ""), before=BEFORE.replace("Wait", "When `fired`, wait")
    )
    assert result.verdict != "pass"
    twice = BEFORE.replace("## Cooling", "`fired` is a label.\n\n## Cooling")
    assert judged(twice.replace("- `fired`\n", ""), before=twice).verdict == "review"


def test_a_new_page_may_introduce_what_moved_to_it():
    page = (
        f"# Firing (step 2)\n\nThe rules that the `kiln` root uses in step 2.\n\n{DUTIES}\n{LABELS}"
    )
    root = f"{HEAD}## Firing\n\nRead `references/firing.md` in step 2.\n\n## Cooling\n\n"
    result = judged(f"{root}Wait until the needle is below 90.\n", page)
    assert (result.verdict, rules(result)) == ("pass", ["edit.added", "edit.routing"])


@pytest.mark.parametrize(
    "added",
    ["It is fine to skip the gloves.", "Never fire more than 50 pots.", "Run `kiln --fast` first."],
)
@pytest.mark.parametrize("place", ["opening", "below the moved text", "beside the pointer"])
def test_a_demand_is_no_introduction(added, place):
    opening, below, beside = (
        f"\n{added}\n" if place == one else ""
        for one in ("opening", "below the moved text", "beside the pointer")
    )
    page = f"# Firing\n{opening}\n{DUTIES}\n{LABELS}{below}"
    root = f"{HEAD}## Firing\n\nRead `references/firing.md` in step 2.\n{beside}\n## Cooling\n\n"
    result = judged(f"{root}Wait until the needle is below 90.\n", page)
    assert result.verdict != "pass"
    assert "edit.fact-added" in rules(result)


def test_a_lost_duty_fails_and_a_rewritten_one_waits():
    lost = judged(BEFORE.replace("Always wear gloves.", ""))
    rewritten = judged(
        BEFORE.replace(
            "Always wear gloves.",
            "Near the hot kiln everyone must always wear their gloves, helpers too, and a coat.",
        )
    )
    assert (lost.verdict, rules(lost)) == ("fail", ["edit.duty-lost"])
    assert rewritten.verdict == "review"


@pytest.mark.parametrize(
    ("old", "new", "verdict", "rule"),
    [
        ("version: '1.0'", "version: '1.1'", "pass", "edit.metadata"),
        ("version: '1.0'", "license: MIT", "pass", "edit.metadata"),
        ("Fires pots.", "Glazes cups and more. Use when asked.", "review", "edit.field"),
        (
            "version: '1.0'",
            "version: '1.0'\nallowed-tools: Bash",
            "fail",
            "edit.tools",
        ),
    ],
)
def test_front_matter_is_judged_by_its_keys(old, new, verdict, rule):
    result = judged(BEFORE.replace(old, new), policy="rewritten")
    assert rule in rules(result)
    assert result.verdict in {verdict, "review" if verdict == "fail" else verdict}


def test_a_changed_script_waits_with_its_diff_and_a_licence_informs():
    before = {ROOT: BEFORE, "kiln/fire.py": "a = 1\nfire(a)\n", "kiln/LICENSE": "Free.\n"}
    script = bundle({**before, "kiln/fire.py": "a = 2\nfire(a)\n"})
    result = audit(bundle(before), script, "unclaimed", "rewritten")
    (found,) = result.own
    assert (found.rule, found.source_text, found.variant_text) == (
        "edit.number", "a = 1", "a = 2",
    )  # fmt: skip
    assert result.verdict == "review"
    licence = audit(
        bundle(before), bundle({**before, "kiln/LICENSE": "Pay first.\n"}), "unclaimed", "rewritten"
    )
    assert (licence.verdict, rules(licence)) == ("pass", ["edit.metadata"])


def test_the_plan_engine_keeps_every_copy():
    twice = BEFORE.replace("## Cooling", f"## Again\n\n{DUTIES}\n## Cooling")
    assert judged(BEFORE, before=twice, policy="strict").verdict == "fail"


def test_a_lost_copy_is_no_lost_duty():
    twice = BEFORE.replace("## Cooling", f"Open it.\n\n{DUTIES}\n## Cooling")
    result = judged(BEFORE.replace("## Cooling", "Open it.\n\n## Cooling"), before=twice)
    assert (result.verdict, rules(result)) == ("review", ["edit.copy-lost"])


STEPS = "# Kiln\n\n## Step 1: Load\n\nGo to Step 3 if it is hot.\n\n## Step 2: Dry\n\nWait.\n\n## Step 3: Fire\n\nLight it.\n"


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ([("## Step 2: Dry\n\nWait.\n\n", ""), ("Step 3", "Step 2")], "review"),
        ([("Step 3", "Step 4"), ("Step 2", "Step 3")], "pass"),
        ([("Go to Step 3", "Go to Step 2")], "review"),
        ([("## Step 3", "## Step 2")], "review"),
    ],
    ids=["with a step removed", "throughout", "one mention alone", "a number twice"],
)
def test_steps_may_be_renumbered_throughout(changes, verdict):
    after = STEPS
    for old, new in changes:
        assert old in after
        after = after.replace(old, new)
    result = judged(after, before=STEPS)
    assert result.verdict == verdict
    if changes[0][1] != "":
        assert ("edit.pointer" in rules(result)) is (verdict == "review")
