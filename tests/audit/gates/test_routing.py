"""Rows lead to what they say: by what stands in the files, not by their names."""

import pytest

from skilljuror.audit.audit import audit
from skilljuror.audit.gates.routing import RoutingGate
from tests.support.knowledge_bundles import skill

LOANS = "# Loans\n\n## Due dates\n\nA book is due after three weeks; a film after one.\n"
REPAIRS = "# Repairs\n\n## Torn pages\n\nMend a torn page with wheat paste and thin tissue.\n"
FILES = {"references/loans.md": LOANS, "references/repairs.md": REPAIRS}
SECTIONS = f"\n## Lending\n\n{LOANS[9:]}\n## Mending\n\n{REPAIRS[11:]}"
ROWS = """
- [references/loans.md](references/loans.md): read when a book is due.
- [references/repairs.md](references/repairs.md): read when a page is torn.
"""


def _rules(source, variant):
    found = RoutingGate().check(source, variant, "other", "strict").findings
    return [one.rule for one in found if not one.inherited]


def test_rows_that_lead_where_they_say_pass():
    assert _rules(skill(SECTIONS), skill(ROWS, **FILES)) == []


@pytest.mark.parametrize("policy", ["strict", "rewritten"])
def test_exchanged_files_are_told_for_files_of_the_source(policy):
    swapped = {"references/loans.md": REPAIRS, "references/repairs.md": LOANS}
    source, variant = skill("\nAsk the desk.\n", **FILES), skill("\nAsk the desk.\n", **swapped)
    assert _rules(source, variant) == ["routing.exchanged"] * 2
    assert audit(source, variant, "other", policy).verdict != "pass"


def test_exchanged_files_are_told_by_their_rows_where_a_build_made_them():
    swapped = {"references/loans.md": REPAIRS, "references/repairs.md": LOANS}
    assert "routing.exchanged" in _rules(skill(SECTIONS), skill(ROWS, **swapped))


@pytest.mark.parametrize(("loans", "repairs"), [("a", "b"), ("b", "a")])
def test_exchanged_files_are_told_whatever_their_names(loans, repairs):
    rows = f"""
- [references/{loans}.md](references/{loans}.md): read to mend a torn page with paste.
- [references/{repairs}.md](references/{repairs}.md): read for a torn page.
"""
    files = {f"references/{loans}.md": LOANS, f"references/{repairs}.md": REPAIRS}
    assert "routing.exchanged" in _rules(skill(SECTIONS), skill(rows, **files))


def test_files_of_one_matter_are_not_exchanged_where_their_rows_name_their_headings():
    first = "# Load balancer\n\nExamples of proxies for https.\n"
    second = "# HTTPS\n\nConfiguration templates: a load balancer, the balancer of a load.\n"
    rows = """
- [references/a.md](references/a.md): read for Configuration templates: Load balancer.
- [references/b.md](references/b.md): read for Examples of proxies: HTTPS.
"""
    files = {"references/a.md": first, "references/b.md": second}
    assert _rules(skill(f"\n{first}\n{second}"), skill(rows, **files)) == []


def test_files_that_changed_names_together_with_their_rows_pass():
    renamed = {"references/b.md": LOANS, "references/a.md": REPAIRS}
    rows = ROWS.replace("references/loans", "references/b").replace(
        "references/repairs", "references/a"
    )
    assert _rules(skill(ROWS, **FILES), skill(rows, **renamed)) == []


def test_files_of_one_title_are_not_exchanged_where_a_row_names_it():
    kinds = "Queue, slots, stores, containers, priority and preemption of slots.\n"
    rows = (
        "# Kiln\n\nWhen the task involves Shared slots, read [a.md](a.md).\n\n"
        "- [b.md](b.md): all queue, store and container kinds\n"
    )
    files = {
        "a.md": f"# Shared slots\n\nOne table.\n\n{kinds}",
        "b.md": "# Shared slots\n\nShared slots in shared slots.\n",
    }
    assert "routing.exchanged" not in _rules(skill("# Kiln\n"), skill(rows, **files))
    other = {**files, "a.md": files["a.md"].replace("# Shared slots", "# Glaze")}
    assert "routing.exchanged" in _rules(skill("# Kiln\n"), skill(rows, **other))


def test_a_text_that_went_into_another_file_is_not_exchanged():
    joined = {"references/loans.md": LOANS + REPAIRS, "references/repairs.md": "# Repairs\n"}
    assert _rules(skill("\nAsk.\n", **FILES), skill("\nAsk.\n", **joined)) == []


def test_a_label_and_a_link_that_disagree_are_told():
    crossed = ROWS.replace("](references/loans.md)", "](references/repairs.md)")
    assert "routing.crossed" in _rules(skill(SECTIONS), skill(crossed, **FILES))
    assert "routing.crossed" not in _rules(skill(crossed, **FILES), skill(crossed, **FILES))


def test_a_heading_that_looks_like_a_name_of_a_file_is_the_rows_own():
    loans = LOANS.replace("# Loans\n", "# Loans by desk.js (Counter)\n").replace(
        "## Due dates\n", ""
    )
    repairs = (
        "# Rooms (Recommended)\n\n## Torn pages (Counter desk)\n\nRooms of the counter desk.\n"
    )
    rows = ROWS.replace(
        "read when a book is due", "Rooms (Recommended): Loans by desk.js (Counter)"
    )
    files = {"references/loans.md": loans, "references/repairs.md": repairs}
    assert "routing.astray" not in _rules(skill(SECTIONS), skill(rows, **files))


def test_a_row_that_speaks_of_another_file_is_told():
    rows = ROWS.replace("a page is torn", "Due dates are told to a torn reader")
    assert _rules(skill(SECTIONS), skill(rows, **FILES)) == ["routing.astray"]
    assert _rules(skill(rows, **FILES), skill(rows, **FILES)) == []


@pytest.mark.parametrize("dull", ["see this file for more details", "read this reference"])
def test_a_row_that_says_nothing_of_its_file_is_told(dull):
    rows = ROWS.replace("read when a page is torn", dull)
    assert _rules(skill(SECTIONS), skill(rows, **FILES)) == ["routing.dull"]
    assert _rules(skill(rows, **FILES), skill(rows, **FILES)) == []


def test_a_row_may_name_a_heading_of_everyday_words():
    page = {"references/details.md": "# More details\n\nA ladder stands behind each third shelf.\n"}
    rows = "\n- [references/details.md](references/details.md): read for More details.\n"
    assert _rules(skill("\nA ladder stands behind each third shelf.\n"), skill(rows, **page)) == []


def test_rows_in_a_script_that_is_not_cut_into_words_are_not_judged():
    page = {"references/zh.md": "# 借阅\n\n书籍三周后到期。\n"}
    rows = "\n- [references/zh.md](references/zh.md): 何时归还\n"
    assert _rules(skill("\n书籍三周后到期。\n"), skill(rows, **page)) == []


PHASES = """
# Repair of a clock

## Phase 1: Open the case

Lift the lid and look for rust.

### Tools for the lid

A flat blade will do.

## Phase 2: Clean the wheels

Brush every wheel with spirit.

## Phase 3: Close the case

Press the lid until it clicks.
"""
REST = f"# Rest of the repair\n\n## Phase 2{PHASES.partition('## Phase 2')[2]}"
BEGUN = PHASES.partition("## Phase 2")[0]
POINTER = "[references/rest.md](references/rest.md): continue here for Phase 2: Clean the wheels."
TABLE = "\n## Supporting files\n\n- [references/rest.md](references/rest.md): Phase 2: Clean the wheels, Phase 3: Close the case.\n"


@pytest.mark.parametrize("policy", ["strict", "rewritten"])
def test_a_process_that_leaves_the_root_without_a_word_is_told(policy):
    source, variant = skill(PHASES), skill(BEGUN + TABLE, **{"references/rest.md": REST})
    assert _rules(source, variant) == ["routing.pointer"]
    assert audit(source, variant, "other", policy).verdict != "pass"
    assert _rules(variant, variant) == []


@pytest.mark.parametrize(
    "line", [POINTER, "Go on with the wheels in references/rest.md.", "## Rest: references/rest.md"]
)
def test_any_line_at_the_break_leads_on(line):
    variant = skill(f"{BEGUN}{line}\n{TABLE}", **{"references/rest.md": REST})
    assert "routing.pointer" not in _rules(skill(PHASES), variant)


def test_a_line_above_the_break_leads_on_where_it_names_what_follows():
    named = "Phase 2: Clean the wheels is in references/rest.md.\n\n## Phase 1"
    other = "See references/rest.md, too.\n\n## Phase 1"
    for line, told in ((named, []), (other, ["routing.pointer"])):
        root = BEGUN.replace("## Phase 1", line) + TABLE
        found = _rules(skill(PHASES), skill(root, **{"references/rest.md": REST}))
        assert [rule for rule in found if rule == "routing.pointer"] == told


def test_a_process_that_left_as_a_whole_needs_the_table_alone():
    whole = {"references/rest.md": f"# Rest\n{BEGUN}\n{REST.partition('repair')[2]}"}
    assert _rules(skill(PHASES), skill(f"\nMend it.\n{TABLE}", **whole)) == []
