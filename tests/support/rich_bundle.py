"""Six bundles with much to get wrong: limits, duties, tables, steps, commands, scripts. All text is
our own."""

from typing import NamedTuple

Files = dict[str, bytes]


class Domain(NamedTuple):
    """What one bundle is about."""

    name: str
    thing: str
    parts: tuple[str, str, str, str, str]
    tool: str
    size: str
    """Unit of a size."""
    time: str
    """Unit of a duration."""


DOMAINS = (
    Domain("kiln-firing", "firing", ("ramp", "soak", "cooling", "glaze", "shelf"), "kiln", "mm", "minutes"),
    Domain("audio-master", "track", ("intro", "chorus", "bridge", "fade", "silence"), "loud", "kHz", "ms"),
    Domain("map-tiles", "tile", ("road", "river", "label", "contour", "border"), "tiler", "km", "seconds"),
    Domain("seed-store", "batch", ("barley", "clover", "vetch", "rye", "lupin"), "seeds", "cm", "days"),
    Domain("log-archive", "archive", ("index", "shard", "journal", "digest", "ledger"), "arch", "MB", "hours"),
    Domain("print-proof", "sheet", ("margin", "bleed", "spread", "plate", "cover"), "proof", "px", "s"),
)  # fmt: skip


def _root(one: Domain, seed: int) -> str:
    a, b, c, d, e = one.parts
    n = seed
    return f"""---
name: {one.name}
description: Check every {one.thing} and its {a} before release. Use when a {one.thing} is handed over.
---
# {one.name.replace("-", " ").capitalize()}

A {one.thing} is released after all of its parts are checked. Each part has a page of its own that contains multiple tables.

## Overview

The {a} must stay below {n + 40} {one.size} in every {one.thing}. Always measure it twice.

Never change the {b} after the {c} was signed. The {d} takes at least {n + 3} {one.time} to settle.

Do not reuse a {e} that is older than {n + 12} {one.time}. A second {e} costs more than 250 points.

## Workflow

1. Read `references/{a}.md` and note the limit of the {a}.
2. Run `python3 scripts/check_{a}.py --strict --limit {n + 40}` on the {one.thing}.
3. Compare the {b} with the plan of the day.
4. Measure the {c} again when it differs by more than {n + 2} %.
5. Write the report with `{one.tool} report --format json --quiet`.
6. Hand the {one.thing} over to the next team.

## Limits

- **Height**: the {a} must be <= {n + 41} {one.size} at the start and >= {n + 5} {one.size} at the end.
- **Rest**: the {b} is required to rest for {n + 21} {one.time} before the {c} begins.
- **Steps up**: never raise the {d} above {n + 91} {one.size} in one go.
- Keep fewer than {n + 7} pieces of *{e}* on one pile.
- Always stop when less than {n + 9} {one.time} are left.

## Values

| part | lowest | highest | note |
|---|---|---|---|
| {a} | {n + 5} | {n + 41} | measured twice |
| {b} | {n + 6} | {n + 52} | measured at rest |
| {c} | {n + 7} | {n + 63} | measured when warm |
| {d} | {n + 8} | {n + 74} | measured by eye |
| {e} | {n + 9} | {n + 85} | counted by hand |

## Commands

```bash
{one.tool} start --input day.csv --limit {n + 40}
{one.tool} watch --interval {n + 2} --verbose
python3 scripts/check_{b}.py --strict --limit {n + 52}
```

When a command fails, look into `references/trouble.md` first. It must not be run a third time.
"""


def _page(one: Domain, place: int, seed: int) -> str:
    part, other = one.parts[place], one.parts[(place + 1) % 5]
    n = seed + 10 * place
    return f"""# {part.capitalize()} of a {one.thing}

Read this page when the {part} of a {one.thing} is in question. The sections show how to find and check common faults.

## When the {part} matters

The **{part}** matters while the *{other}* is at least {n + 4} {one.size} wide. Below {n + 2} {one.size} it
may be left alone.

A *{part}* that fails twice must be taken out. Do not mend it in place.

## How the {part} is measured

1. Clean the {part} with a dry cloth before you start to process it.
2. Wait for {n + 15} {one.time} in a closed room.
3. Measure from {n + 1} {one.size} up to {n + 33} {one.size} in five steps.
4. Write the *mean* of the {part} into the sheet to show the data of the whole run.

Use `{one.tool} measure --part {part} --repeat {n + 3}` for a long series.

## Limits of the {part}

- **Faults**: never accept more than {n + 6} faults in {n + 120} pieces.
- **Spread**: always repeat the series when it spreads by over {n + 8} %.
- **Sheet**: it must hold at least {n + 11} values and less than {n + 90} notes.

| reading | {part} | action |
|---|---|---|
| low | {n + 2} | wait and measure again |
| middle | {n + 17} | write it down |
| high | {n + 33} | call the owner |

```bash
{one.tool} measure --part {part} --output {part}.csv
{one.tool} plot --input {part}.csv --width {n + 640}
```

The owner of the {part} answers within {n + 24} {one.time}. Nobody else is required to sign.

When it sticks, see [what to do](trouble.md#the-{part}-is-stuck) and then [the next part]({other}.md).
"""


def _trouble(one: Domain, seed: int) -> str:
    told = "\n".join(
        f"## The {part} is stuck\n\nWait {seed + 5 * place} {one.time}, then run `{one.tool} free --part"
        f" {part} --force`. Never pull the {part} while the lamp is on. It must cool to below"
        f" {seed + 30 + place} {one.size} first.\n"
        for place, part in enumerate(one.parts)
    )
    return f"# Trouble with a {one.thing}\n\nOpen this page after a command has failed.\n\n{told}"


def _script(one: Domain, place: int, seed: int) -> str:
    part = one.parts[place]
    return f'''#!/usr/bin/env python3
"""Check the {part} of a {one.thing} against its limit."""

import argparse

LIMIT = {seed + 41 + place}
SAMPLES_OF_{part.upper()} = {seed + 7}


def read_{part}(path):
    values = [float(line) for line in open(path) if line.strip()]
    return values[:SAMPLES_OF_{part.upper()}]


def main():
    parser = argparse.ArgumentParser(description="check the {part}")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--limit", type=int, default=LIMIT)
    options = parser.parse_args()
    worst_{part} = max(read_{part}("{part}.csv"))
    if worst_{part} > options.limit:
        raise SystemExit(f"{part} too high: {{worst_{part}}}")


main()
'''


def rich(one: Domain, seed: int) -> Files:
    """A skill with five references, a page for trouble and five scripts."""
    files = {"SKILL.md": _root(one, seed), "references/trouble.md": _trouble(one, seed)}
    for place, part in enumerate(one.parts):
        files[f"references/{part}.md"] = _page(one, place, seed)
        files[f"scripts/check_{part}.py"] = _script(one, place, seed)
    return {f"{one.name}/{path}": text.encode() for path, text in files.items()}


RICH: dict[str, Files] = {one.name: rich(one, 10 * n) for n, one in enumerate(DOMAINS)}
