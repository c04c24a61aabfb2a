"""Six bundles whose meaning hangs on small words, nesting, links and apostrophes. All text is our own."""

from tests.support.rich_bundle import DOMAINS, Domain, Files


def _section(one: Domain, number: int) -> str:
    part, other = one.parts[number % 5], one.parts[(number + 1) % 5]
    size = number + 3
    return f"""## {part.capitalize()} {number}

The desk must weigh the {part} and the {other} on the evening before.

If the {part} {number} is lighter than the {other}, put it back on the shelf for a while.

The {other} stays in the drawer for {size} {one.time} when the {part} {number} is damp.

Look through every {part} that came in on day {number} of the month.

Let the user sign the sheet of the {part} {number} at the door.

You don’t need a lamp for the {part} {number} in summer, and it doesn't hurt.

The [notes on {part} {number}](https://{part}.example/notes/{number}) and the [plan of {other} {number}](https://{other}.example/plan/{number}) help.

See [the page of the {part}](references/{part}.md) for the {other} {number}.

- Sweep the bench of the {part} {number}
- Fetch the cart of the {part} {number}
  - The blue cart of the {other} {number}
  - The grey cart of the {other} {number}
- Ring the bell of the {part} {number}

### Colour of {part} {number}

The colour of the {part} {number} is that of the {other}.

### Smell of {part} {number}

The smell of the {part} {number} is that of the {other} next to it.

"""


def worded(one: Domain) -> Files:
    """A skill with a page for each part."""
    name = f"{one.name}-words"
    root = f"""---
name: {name}
description: Handle the parts of a {one.thing}. Use when a {one.thing} is brought to the desk.
---
# Words about a {one.thing}

Each {one.thing} has parts that are weighed one by one.

{"".join(_section(one, number) for number in range(1, 7))}"""
    files = {"SKILL.md": root}
    for number, part in enumerate(one.parts, 10):
        files[f"references/{part}.md"] = (
            f"# The {part}\n\nWhat the desk knows of it.\n\n{_section(one, number)}"
        )
    return {f"{name}/{path}": text.encode() for path, text in files.items()}


WORDED: dict[str, Files] = {f"{one.name}-words": worded(one) for one in DOMAINS}
