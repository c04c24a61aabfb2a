import pytest

from skilljuror.audit.comparison.diff import diff
from tests.support.knowledge_bundles import skill


def swaps(before, after, **files):
    found = diff(skill(before), skill(after, **files))
    return [(p.before.text, p.after.text) for p in found.altered if p.change == "steps"]


PHASES = "## Phases\n\n{}{}### Tell\n\nSend it to all.\n"
LOOK = "### Look\n\nRead the log.\n\n"
MEND = "### Mend\n\nChange one thing.\n\n"


def test_two_sections_of_a_process_that_changed_places():
    found = swaps(PHASES.format(LOOK, MEND), PHASES.format(MEND, LOOK))
    assert found == [("Look -> Mend", "Mend -> Look")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("### Phase 1: Look\n\nRead.\n\n### Phase 2: Mend\n\nChange.\n",
         "### Phase 2: Mend\n\nChange.\n\n### Phase 1: Look\n\nRead.\n"),
        ("## Fill-Heat-Cool\n\n### FILL it\n\nA.\n\n### HEAT it\n\nB.\n\n### COOL it\n\nC.\n",
         "## Fill-Heat-Cool\n\n### HEAT it\n\nB.\n\n### FILL it\n\nA.\n\n### COOL it\n\nC.\n"),
        ("In this order:\n\n- Take it out\n- Wipe it\n", "In this order:\n\n- Wipe it\n- Take it out\n"),
        ("Take it out. Then wipe it.\n", "Then wipe it. Take it out.\n"),
        ("1. Take it out.\n2. Wipe it.\n3. Put it back.\n", "1. Take it out.\n2. Put it back.\n3. Wipe it.\n"),
        ("1. Take it out.\n\n   ```sh\n   a\n   ```\n\n2. Wipe it.\n",
         "1. Wipe it.\n2. Take it out.\n\n   ```sh\n   a\n   ```\n"),
    ], ids=["numbered", "named", "bullets", "sentences", "list", "list with code"],
)  # fmt: skip
def test_what_is_done_one_after_another_has_an_order(before, after):
    assert len(swaps(before, after)) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"## Topics\n\n{LOOK}{MEND}", f"## Topics\n\n{MEND}{LOOK}"),
        ("- Take it out\n- Wipe it\n", "- Wipe it\n- Take it out\n"),
        (f"## Workflow\n\n{LOOK}{MEND}", f"# All\n\n#### Look\n\nRead the log.\n\n{MEND}"),
        ("1. Take it out.\n2. Wipe it.\n", "1. Take it out.\n2. Wait for a day.\n3. Wipe it.\n"),
    ], ids=["topics", "bullets", "demoted", "a step between"],
)  # fmt: skip
def test_what_has_no_order_or_keeps_it(before, after):
    assert swaps(before, after) == []


def test_steps_between_which_others_went_to_a_file_keep_their_order():
    part = {"references/mend.md": MEND.replace("###", "#")}
    tell = "### Tell\n\nSend it to all.\n\n"
    kept, turned = f"## Phases\n\n{LOOK}{tell}", f"## Phases\n\n{tell}{LOOK}"
    assert swaps(PHASES.format(LOOK, MEND), kept, **part) == []
    assert len(swaps(PHASES.format(LOOK, MEND), turned, **part)) == 1


def test_steps_parted_between_files_have_no_order_of_their_own():
    part = {"references/look.md": "# Look\n\nRead the log.\n"}
    assert swaps(f"## Workflow\n\n{LOOK}{MEND}", f"## Workflow\n\n{MEND}", **part) == []
