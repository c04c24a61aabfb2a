"""The mutations on hand-made layouts: drift is caught, harmless changes pass."""

import subprocess
import sys

import pytest

from skilljuror.audit.audit import audit
from skilljuror.audit.gates.mutations.catalog import MUTATIONS
from skilljuror.audit.gates.mutations.sites import MutationTarget, said_lines
from tests.support.every import every
from tests.support.gate_pairs import rebuilt
from tests.support.knowledge_bundles import bundle, skill

SOURCE = bundle(
    {
        "demo/SKILL.md": """---
name: demo
description: Screen the orders. Use when orders must be screened.
---
# Screening

Always keep the log of at least 30 days in the folder. Never delete a file of the archive.

The job needs 20 to 40 minutes, so start it early and follow the progress of every channel in the log.

## Steps

1. Run `python scripts/screen.py --strict in.csv` first.
2. Compare the result with the table below.
3. Write the report for the desk and run `python scripts/send.py`.

## Limits

- **Large** orders of more than 500 rows must be split.
- Use the following example when the data is small and the file has a header line.

| channel | limit |
|---|---|
| web | 30 |
| shop | 45 |

Text below the table stands alone. A summary of 25000 orders, for example, is normalised.

- Orders of a new customer must be checked by the desk and the owner.
  - The owner can’t sign for the user if the desk is closed.
  - Every order of the user stands in the [register](https://desk.example/orders/list), and it doesn't move.
- The [rules](references/rules.md) and the [handbook](https://desk.example/handbook) tell more.

## Notes

Read the [rules](references/rules.md) when a limit is unclear.

Ask the desk for help.

- [references/rules.md](references/rules.md): for when the size of a file is in doubt.
- [references/archive.md](references/archive.md): for when an order is looked for in the cellar.

## Review workflow

### Draft

Write down what the desk found.

### Sign

Let the owner put a name below it.

→ Archive: read [references/archive.md](references/archive.md).

## When to screen

Screen when:

- the orders come from abroad
- a channel is new

Leave it when:

- the desk is closed

## Helper implementation for `scripts/send.py`

Write this file to `scripts/send.py` in the folder of this SKILL.md before you run anything that uses it.

```python
print("sent")
```
""",
        "demo/references/rules.md": "# Rules\n\nThe size must stay below 5 MB per file.\n\nThe rest is free.\n",
        "demo/references/archive.md": "# Archive\n\nOrders of past years lie in the cellar.\n",
        "demo/scripts/screen.py": "import sys\n\nprint(sorted(sys.argv))\n",
    },
    name="demo",
)  # fmt: skip
DRIFT = [name for name, mutation in MUTATIONS.items() if mutation.drift]
# the rules of policy `rewritten` compare numbers as they are written
BENIGN = [
    name for name, mutation in MUTATIONS.items() if not mutation.drift and name != "thousands-comma"
]


def mutants(name):
    target = MutationTarget(SOURCE)
    return [target.mutant(site) for site in MUTATIONS[name].sites(target)]


@pytest.mark.slow
@every("name", DRIFT)
def test_drift_is_caught_under_both_policies(name):
    made = mutants(name)
    assert made
    for mutant in made:
        assert said_lines(mutant.files) != said_lines(SOURCE.files)
        assert audit(SOURCE, mutant, "other", "strict").verdict == "fail"
        assert audit(SOURCE, mutant, "other", "rewritten").verdict != "pass"


@every("name", BENIGN)
def test_harmless_changes_pass(name):
    made = mutants(name)
    assert made
    assert [audit(SOURCE, mutant, "other", "rewritten").verdict for mutant in made] == [
        "pass"
    ] * len(made)


@every("name", ["thousands-comma", "eg", "spelling", "table-realigned"])
def test_other_spellings_give_no_finding_under_edited(name):
    made = mutants(name)
    assert made
    assert [audit(SOURCE, mutant, "other", "edited").own for mutant in made] == [()] * len(made)


@every("name", ["none", "rewrap", "emphasis", "bullets"])
def test_other_marks_for_the_same_words_pass_under_strict(name):
    for mutant in mutants(name):
        assert audit(SOURCE, mutant, "other", "strict").own == ()


@every("name", MUTATIONS)
def test_a_site_tells_what_it_changes(name):
    target = MutationTarget(SOURCE)
    for site in MUTATIONS[name].sites(target):
        changed = target.mutant(site)
        touched = {p for p in changed.files if changed.files[p] != SOURCE.files.get(p)}
        gone = set(SOURCE.files) - set(changed.files)
        assert site.path in touched | gone or site.path == ""
        assert bool(touched | gone) == (name != "none")


def test_the_choice_of_sites_depends_on_the_seed_alone():
    target, again, other = (
        MutationTarget(SOURCE, 1),
        MutationTarget(SOURCE, 1),
        MutationTarget(SOURCE, 3),
    )
    chosen = [
        [(s.path, s.line) for s in t.choose("x", tuple(MUTATIONS["change-number"].sites(t)), 3)]
        for t in (target, again, other)
    ]
    assert chosen[0] == chosen[1] != chosen[2]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1. Open\n2. Close\n", True),
        ("* Open\n- Close\n", True),
        ("**Open**\nClose\n", True),
        ("Close\nOpen\n", False),
        ("Open\nClosed\n", False),
    ],
    ids=["numbers", "list marks", "emphasis", "order", "word"],
)
def test_equivalence_ignores_marks_and_keeps_order(text, same):
    plain = bundle({"a/SKILL.md": "Open\nClose\n"}).files
    assert (said_lines(bundle({"a/SKILL.md": text}).files) == said_lines(plain)) is same


def test_a_script_in_a_fence_can_be_renamed():
    marker = "## Helper implementation for `scripts/screen.py`\n\n```python\nprint(1)\n```\n"
    flat = bundle({"demo/SKILL.md": f"# A\n\n{marker}"})
    target = MutationTarget(flat)
    (site,) = MUTATIONS["rename-script"].sites(target)
    assert "`scripts/run_screen.py`" in site.after
    parent = rebuilt(flat, dict(flat.files))
    assert audit(parent, target.mutant(site), "baseline", "rewritten").verdict == "fail"


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", [".", "/", "../", "\\", "[", "<", "`.", ").", ")a"])
def test_a_line_of_one_thing_over_and_over_is_changed_soon(unit):
    line = f"Keep the following files of the archive: {unit * (100_000 // len(unit))}"
    target = MutationTarget(
        bundle({"demo/SKILL.md": f"---\nname: demo\ndescription: Demo.\n---\n{line}\n"})
    )
    changed = [target.mutant(site) for site in MUTATIONS["paraphrase"].sites(target)]
    assert all(
        b"Keep listed files of archive: " in one.files["demo/SKILL.md"].data for one in changed
    )
    assert changed


@pytest.mark.slow
@pytest.mark.parametrize("module", ["layouts.verify", "study.run", "store.trials", "cli.app"])
def test_ordinary_commands_do_not_import_the_mutations(module):
    code = f"import sys, skilljuror.{module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "skilljuror.audit.gates.mutations" not in done.stdout


@pytest.mark.parametrize(
    ("title", "planted"),
    [("Merge workflow", 1), ("Draft-Sign workflow", 1), ("Draft, Sign, Merge workflow", 0)],
)
def test_sections_have_an_order_where_their_title_says_so_itself(title, planted):
    sections = ["Draft", "Sign"] + ["Merge workflow"] * title.startswith("Draft, ")
    page = "".join(f"## {name}\n\nText of {name}.\n\n" for name in sections)
    target = MutationTarget(skill(f"# {title}\n\n{page}"))
    assert len(list(MUTATIONS["swap-sections"].sites(target))) == planted
