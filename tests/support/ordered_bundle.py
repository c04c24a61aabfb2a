"""Six bundles whose meaning hangs on place and order: phases, a cycle that is not numbered, lists below
conditions, good and bad examples. All text is our own."""

from tests.support.rich_bundle import DOMAINS, Domain, Files


def _phase(one: Domain, number: int) -> str:
    part, other = one.parts[number % 5], one.parts[(number + 1) % 5]
    return f"""### Phase {number}: Look at the {part}

Begin with the smallest {part} that shows the fault. A clear picture of the {part} helps more than a long list.

Look closely when:

- the {part} came back from a public {one.thing}
- a new {part} lies beside the old one

Do not stop to look when:

- the {part} was already known to be safe
- somebody waits for the {other}

#### 1. Open the {part}

Keep the {part} in a separate box and read what is written inside it.

#### 2. Close the {part}

Add the {part} to the full list, so that the same {other} is found again.

"""


def _root(one: Domain) -> str:
    a, b, c, d, e = one.parts
    return f"""---
name: {one.name}-order
description: Take a {one.thing} through all of its phases. Use when a {one.thing} has a fault.
---
# Order of a {one.thing}

Every fault of a {one.thing} has a source. Mend it at the source, not at the symptom.

## When to use

Use this when:

- a {a} is lost
- a {b} fails often

Leave it when:

- a {c} is only slow
- a {d} is too simple for it

## The five phases

{"".join(_phase(one, number) for number in range(1, 6))}## Sort-Hold-Free

### SORT the {a}

Put every {a} in order, the largest first.

### Watch it SORT

Look whether a {a} is left over.

### HOLD the {b}

Keep the {b} still until the {a} is dry.

### FREE the {c}

Let the {c} go and show it to the owner.

## Words of the owner

**Good**

- "The {d} passes."
- "I know which {e} it was."

**Bad**

- "The {d} is certainly fine."
- "It was some {e}."

See [the page about the {e}](references/{e}.md) when all of it is complete.
"""


def _page(one: Domain) -> str:
    e = one.parts[4]
    steps = "".join(
        f"## Step {number}: The {part}\n\nTurn the {part} to the left and write down its highest value.\n\n"
        f"Turn it back if:\n\n- the {part} is warm\n- the {e} is weak\n\nLeave it there if:\n\n"
        f"- the {part} is cold\n- the {e} is strong\n\n"
        for number, part in enumerate(one.parts, 1)
    )
    return f"# The {e} in order\n\nOpen this page when the {e} is in doubt.\n\n{steps}"


def ordered(one: Domain) -> Files:
    """A skill with a process, a cycle and conditions, and a page of steps."""
    name = f"{one.name}-order"
    files = {"SKILL.md": _root(one), f"references/{one.parts[4]}.md": _page(one)}
    return {f"{name}/{path}": text.encode() for path, text in files.items()}


ORDERED: dict[str, Files] = {f"{one.name}-order": ordered(one) for one in DOMAINS}
