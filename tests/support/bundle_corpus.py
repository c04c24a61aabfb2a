"""Synthetic bundles, each built around traps that real bundles have. All text is our own."""

from pathlib import Path

from skilljuror.base.skill import Blob, Bundle
from skilljuror.skill.bundles import make_bundle, write_bundle
from tests.support.ordered_bundle import ORDERED
from tests.support.rich_bundle import RICH, Files
from tests.support.worded_bundle import WORDED


def head(name: str, description: str) -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n"


REPORT: Files = {
    "csv-report/SKILL.md": (
        head("csv-report", "Summarise a CSV of sales. Use when a report is asked for.")
        + "# CSV report\n\nTurns sales into totals.\n\n## Workflow\n\n"
        "1. Read [the format](references/format.md) first.\n"
        "2. Run `python3 scripts/helper.py sales.csv`.\n\n"
        "## Limits\n\n- NEVER round below 0.01.\n- Stop above 10 MB.\n"
    ).encode(),
    "csv-report/references/format.md": b"# Format\n\n`total` is a number; see [limits](../SKILL.md#limits).\n",
    "csv-report/scripts/helper.py": b'#!/usr/bin/env python3\n"""Add up the amounts."""\nprint(1)\n',
    "csv-report/assets/template.html": b"<table>\n</table>\n",
}

LINE_ENDS: Files = {
    "ends/SKILL.md": head("ends", "Line ends.").replace("\n", "\r\n").encode()
    + b"# Ends\r\n\r\nRun `scripts/crlf.py`.\r\n\r\n## More\r\n\r\nText.",
    "ends/bom.md": "\ufeff# Bom\n\nMarked.\n".encode(),
    "ends/mixed.md": b"# Mixed\r\n\nOne\r\nTwo\n",
    "ends/scripts/crlf.py": b"print(1)\r\nprint(2)",
    "ends/scripts/mixed.sh": b"#!/bin/sh\necho 1\r\necho 2\n",
    "ends/scripts/lone.py": b"x = 1\ry = 2\n",
    "ends/scripts/bom.py": "\ufeffprint(3)\n".encode(),
    "ends/scripts/empty.py": b"",
    "ends/scripts/blank.py": b"\n",
}

CODE: Files = {
    "code/SKILL.md": (
        head("code", "Code that looks like text.")
        + "# Code\n\n```python\n# not a heading\n## nor this\n```\n\n## Nested\n\n"
        "````markdown\n```py\n# inner\n```\n````\n\n- item\n\n  ```sh\n  # in a list\n  run --fast\n  ```\n\n"
        "> ```\n> # in a quote\n> ```\n\n## Tildes\n\n~~~text\n## nope\n```\n~~~\n\n"
        "    # indented\n\n## Ticks\n\n`` a ` b `` and <!-- # hidden -->\n"
    ).encode(),
    "code/fences.md": b"```python\nonly = 'a fence'\n```\n",
    "code/scripts/doc.py": b'"""Doc.\n\n```\nx\n```\n\n`````\ny\n`````\n"""\n',
}

OPEN: Files = {
    "open/SKILL.md": (
        head("open", "Blocks that never close.")
        + "# Open\n\nFirst.\n\n## Then\n\nSecond.\n\n## Last\n\n```bash\nrun --all\n"
    ).encode(),
    "open/comment.md": b"# Comment\n\nText.\n\n<!-- never closed\n# hidden\n",
    "open/long.md": b"# Long\n\n``````\nseven\n",
    "open/scripts/run.sh": b"#!/bin/sh\ntrue\n",
}

LABELS: Files = {
    "labels/SKILL.md": (
        head("labels", "Links by label.")
        + "# Labels\n\nSee [the guide][guide], [spec] and a note[^1].\n\n"
        "## First\n\nAlso [spec] and [other][guide].\n\n## Second\n\nMore[^1], [spec].\n\n"
        "[guide]: references/guide.md 'Guide'\n[spec]: https://example.org/spec\n\n"
        "[^1]: A foot note with words.\n"
    ).encode(),
    "labels/references/guide.md": b"# Guide\n\nThe [spec] differs here.\n\n[spec]: https://example.org/old\n",
    "labels/references/plain.md": b"# Plain\n\nNo [spec] is defined here, and [x] is a box.\n",
}

HEADLESS: Files = {
    "headless/SKILL.md": b"Always check the input.\n\n- one\n- two\n\nThen write the output.\n\nNever skip this.\n"
}

BODYLESS: Files = {
    "bodyless/SKILL.md": b"---\nname: bodyless\ndescription: Nothing below.\n---",
    "bodyless/notes.md": b"# Notes\n\nAll there is.\n",
}

TINY: Files = {"tiny/SKILL.md": (head("tiny", "Tiny.") + "Do it.\n").encode()}

WRONG_CASE: Files = {
    "lower/skill.md": (
        head("lower", "Lower case.") + "# Lower\n\nText.\n\n## More\n\nText.\n"
    ).encode(),
    "mixed/Skill.md": (head("mixed", "Mixed case.") + "# Mixed\n\nText.\n").encode(),
}

TWO_ROOTS: Files = {
    "twice/SKILL.md": (
        head("twice", "Two roots.") + "# Twice\n\nRun the first at 5 mm.\n\n## More\n\nText.\n"
    ).encode(),
    "twice/Skill.md": (
        head("twice", "Two roots, older.")
        + "# Twice\n\nRun the second at 6 mm.\n\n1. Go.\n2. Stop.\n"
    ).encode(),
}

WHOLE_IN_A_FENCE: Files = {
    "whole/SKILL.md": (
        head("whole", "Pages that begin with a fence.")
        + "# Whole\n\nSee references/open.md and references/two.md.\n\n## Rules\n\nKeep 3 mm free.\n"
    ).encode(),
    "whole/references/open.md": (
        b"````md\n# Inside\n\nRead at 7 mm.\n\n```sh\nrun --fast\n```\n````\n\n# After\n\nNever at 9 mm.\n"
    ),
    "whole/references/two.md": b"# Two\n\n## `<name>` is missing\n\nText.\n\n"
    + b"".join(f"## Case {n}: <name>\n\nOne.\n\nTwo.\n\nThree.\n\n".encode() for n in range(20)),
    "whole/rules/a.md": b"---\ntitle: A\n---\n# A\n\nSee [b](./b.md) and `-x`**option**.\n",
    "whole/rules/b.md": b"---\ntitle: B\n---\n# B\n\nSee [a](./a.md) and [none](./none.md).\n",
}

SEVERAL: Files = {
    "alpha/SKILL.md": (
        head("alpha", "First skill. Use for a.")
        + "# Alpha\n\n## Overview\n\nSee forms.md and scripts/a.py.\n\n## Details\n\n"
        + "word " * 400
        + "\n"
    ).encode(),
    "alpha/forms.md": b"# Forms\n\nFill them.\n",
    "alpha/scripts/a.py": b"import helpers.util\n",
    "alpha/scripts/helpers/__init__.py": b"",
    "alpha/scripts/helpers/util.py": b"# Shared code of the scripts.\nX = 1\n",
    "beta/SKILL.md": (
        head("beta", "Second skill. Use for b.")
        + "# Beta\n\n## Overview\n\nSee [a](../alpha/SKILL.md).\n"
    ).encode(),
    "beta/forms.md": b"# Other forms\n\nDifferent.\n",
    "README.md": b"# Read me\n\nBoth skills. [Terms](LICENSE)\n",
    "LICENSE": b"Terms.\n",
    "licenses/OFL.txt": b"Font terms.\n",
}

NESTED: Files = {
    "outer/SKILL.md": (
        head("outer", "Outer.") + "# Outer\n\nText, see inner/SKILL.md.\n\n## More\n\nText.\n"
    ).encode(),
    "outer/inner/SKILL.md": (head("inner", "Inner.") + "# Inner\n\nHidden.\n").encode(),
    "outer/inner/run.sh": b"#!/bin/sh\n",
}

FORGED: Files = {
    "forged/SKILL.md": (
        head("forged", "Markers in the text.")
        + "# Forged\n\n## Helper implementation for `scripts/run.py`\n\n```python\nforged()\n```\n\n"
        "## Reference content from `../../escape.md`\n\nText.\n\n## Supporting files\n\n- [x](y.md): open it.\n"
    ).encode(),
    "forged/scripts/run.py": b"true()\n",
    "forged/notes.md": b"# Notes\n\n## Helper contract from `x`\n\nText.\n",
}

INDENTED: Files = {
    "indented/SKILL.md": (
        head("indented", "A heading that a list above would swallow.")
        + "- item\n  ```sh\n  # c\n  run\n  ```\n- b\n## Helper implementation for `scripts/s.py`\n\n"
        "```python\nforged()\n```\n  ## indented heading\n"
    ).encode(),
    "indented/scripts/other.sh": b"",
}

HEADINGS: Files = {
    "headings/SKILL.md": (
        head("headings", "Headings of all kinds.")
        + "# One\n\n## Empty parent\n\n### Child\n\nText.\n\n### Other child\n\nText.\n\n# Two\n\n#### Jump\n\n"
        "Text.\n\n## Trailing ##\n\nText.\n\n  ## Indented\n\nText.\n\n##\n\n## Same\n\nA.\n\n## Same\n\nB, see [it](#same-1).\n"
    ).encode(),
    "headings/setext.md": b"Setext\n======\n\nText.\n\nSub\n---\n\n- Actions taken:\n---\n",
    "headings/deep.md": b"# A\n\n## B\n\n### C\n\n#### D\n\n##### E\n\n###### F\n\nDeep.\n",
    "headings/front.md": b"---\ntitle: Front\n---\n# Front\n\nText.\n",
}

DATA: Files = {
    "data/SKILL.md": (
        head("data", "Data beside code.")
        + "# Data\n\nValidate with `schemas/a.xsd`.\n\n## Fonts\n\nUse fonts/.\n"
    ).encode(),
    "data/schemas/a.xsd": b"<xs:schema/>\n",
    "data/schemas/b.xsd": b"\xef\xbb\xbf<xs:schema/>\n",
    "data/fonts/a.ttf": b"\0\1\0\0font",
    "data/fonts/b.ttf": b"\0\1\0\0other",
    "data/table.csv": b"a,b\n" + b"1,2\n" * 3000,
    "data/small.csv": b"a,b\n1,2\n",
    "data/latin.txt": b"caf\xe9\n",
    "data/.gitkeep": b"",
    "data/empty.md": b"\n",
    "data/LICENSE.txt": b"Terms.\n",
}

LARGE: Files = {
    "large/SKILL.md": (
        head("large", "A large reference.")
        + "# Large\n\nFor migration read reference/big.md.\n\n"
        + "".join(f"## Topic {n}\n\n{'words about it ' * 120}\n\n" for n in range(12))
    ).encode(),
    "large/reference/big.md": (
        "# Big\n\nOpening.\n\n"
        + "".join(
            f"## Part {n}\n\n{'more words here ' * 250}\n\n### Sub {n}\n\nText.\n\n"
            for n in range(14)
        )
    ).encode(),
    "large/reference/listing.md": (
        "# Listing\n\n" + "".join(f"## Entry {n}\n\nOne.\n\nTwo.\n\nThree.\n\n" for n in range(20))
    ).encode(),
}

STALE: Files = {
    "stale/SKILL.md": (
        head("stale", "Absolute paths.")
        + "# Stale\n\nRun `python /root/.claude/skills/stale/scripts/x.py` or ~/.agent/skills/stale/scripts.\n\n"
        "## Elsewhere\n\nKeep /root/.claude/skills/other/y.py and https://example.org/skills/stale/z.\n"
    ).encode(),
    "stale/scripts/x.py": b"OPEN = '/root/.claude/skills/stale/scripts/x.py'\n",
}

ODD: Files = {
    "odd name/SKILL.md": (
        b'---\nname: "FFmpeg Audio Processing"\ndescription: "Splits at --- here."\nextra: 1\nallowed-tools: [Read]\n---\n'
        b"# Odd\n\nSee [it](notes%20on%20it.md) and notes on it.md.\n\n## More\n\nText.\n"
    ),
    "odd name/notes on it.md": b"# Notes on it\n\nText.\n",
    "odd name/résumé.md": b"# R\xc3\xa9sum\xc3\xa9\n\nText.\n",
}

LONG_DESCRIPTIONS: Files = {
    f"skill-{n}/SKILL.md": (
        head(
            f"skill-{n}",
            f"Number {n} does many things. " + f"It handles case {n} well, and more. " * 20,
        )
        + f"# Skill {n}\n\nText {n}.\n"
    ).encode()
    for n in range(4)
}

CROWDED: Files = {
    "crowded/SKILL.md": (
        head("crowded", "Many files.")
        + "# Crowded\n\n"
        + "".join(f"For topic {n} read guides/g{n}.md.\n" for n in range(80))
    ).encode(),
    **{f"crowded/guides/g{n}.md": f"# Guide {n}\n\nAbout topic {n}.\n".encode() for n in range(80)},
    **{f"crowded/lib/m{n}.py": f"X = {n}\n".encode() for n in range(12)},
}

STEPS: Files = {
    "steps/SKILL.md": (
        head("steps", "Numbered steps.")
        + "# Steps\n\n## Workflow\n\nFollow them in order.\n\n"
        + "".join(
            f"### Step {n}: Part {n}\n\n{'Do this with care. ' * 180}\n\n" for n in range(1, 9)
        )
        + "## Critical rules\n\n- MUST keep `--strict`.\n"
    ).encode(),
}


def _relay(side: str) -> Files:
    """Processes of which a root has room for the first step alone, and says where each goes on."""
    races = "".join(
        f"## Cycle {side}{n}\n\n### Step 1: Hold {side}{n}\n\nMust wait.\n\n"
        f"### Step 2: Run {side}{n}\n\nOn the way {f'look for runner {side}{n} and breathe, ' * 190}then stop.\n\n"
        for n in range(20)
    )
    text = f"# Relay {side}\n\nOne day of races.\n\n{races}"
    return {f"relay-{side}/SKILL.md": (head(f"relay-{side}", f"Run relay {side}.") + text).encode()}


RELAYS: dict[str, Files] = {
    f"relay-{side}": _relay(side) for side in ("north", "east", "south", "west", "inner", "outer")
}


ROUTED_PAGES = {
    "lathe": "Turn soft wood between two centres. A gouge cuts, a scraper smooths.",
    "forge": "Heat the bar to a bright orange. Hammer while the colour lasts.",
    "loom": "Wind the warp under even tension. A shuttle carries the weft.",
    "press": "Ink the plate thinly. Dampened paper takes the finest lines.",
    "wheel": "Centre the clay before it is opened. Wet hands keep it moving.",
    "vat": "Steep indigo until the froth turns blue. Cloth greens before it blues.",
    "still": "Collect rosemary oil above the water. Discard cloudy fractions.",
    "mill": "Dress both stones with a bill. Barley needs a wider gap than rye.",
    "hive": "Lift the frames against the light. Queens lay in a spiral.",
    "kettle": "Render tallow slowly. Strain it through linen into moulds.",
    "bench": "Sharpen planes on wet slate. Veneer wants a toothed iron.",
    "cask": "Char oak staves inside. Hoops are driven from both ends.",
    "oven": "Fire brick holds heat overnight. Sweep ash before loaves go in.",
    "quarry": "Split slate along its bed. Feathers and wedges part granite.",
    "sail": "Sew seams with waxed thread. Reef points sit below each batten.",
}  # fmt: skip
ROUTED: Files = {
    "routed/SKILL.md": (
        head("routed", "Crafts of a yard.")
        + "# Crafts\n\nEach craft has a page. Go to the page of the craft at hand.\n\n"
        + "".join(
            f"- [references/{name}.md](references/{name}.md): {text.partition('.')[0].lower()}\n"
            for name, text in ROUTED_PAGES.items()
        )
    ).encode(),
    **{
        f"routed/references/{name}.md": f"# The {name}\n\n{text}\n".encode()
        for name, text in ROUTED_PAGES.items()
    },
}


def _workshop(n: int) -> Files:
    """One skill of a large union: a long frontmatter, sections to move, a page and a script."""
    name, parts = f"bench-{n:02}", 800 if n == 11 else 30
    told = f"Repairs case {n} at the bench. Use when case {n} comes back cracked. " * 3
    return {
        f"{name}/SKILL.md": (
            f"---\nname: {name}\ndescription: >-\n  {told}\nlicense: Own\nmetadata:\n  kind: bench\n---\n"
            f"# Bench {n}\n\nBegin with [the page](notes.md), then see [how to sand](#sanding) and [all scripts](scripts/).\n\n"
            f"## Sanding\n\n{''.join(f'Sand part q{chr(97 + part // 26)}{chr(97 + part % 26)} along the grain. ' for part in range(parts))}\n\n"
            f"## Gluing\n\n{'Clamp for 20 minutes at most. ' * 30}\n\n"
            f"## Check\n\nRun `python3 scripts/check.py --case {n}`.\n"
        ).encode(),
        f"{name}/notes.md": f"# Notes of bench {n}\n\nThe lamp stands left of the vice.\n".encode(),
        f"{name}/scripts/check.py": f'"""Check case {n} for cracks."""\nprint({n})\n'.encode(),
    }


UNION: Files = {
    **{path: data for n in range(18) for path, data in _workshop(n).items()},
    "bench-03/table.csv": b"a,b\n" + b"1,2\n" * 3000,
    "bench_odd/SKILL.md": (
        '---\nname: bench_odd\ndescription: "Odd\\nblanks, and 棚の部品を一つずつ確かめてから静かに戻し記録を残すための手順書である"\n---\n'
        "# Odd\n\nKeep the lid shut.\n\n## More\n\nText below.\n"
    ).encode(),
    "bare/SKILL.md": b"# Bare\n\nNo frontmatter at all.\n\n- one\n- two\n",
    "bench-03.md": b"# House rules\n\nA page that is named as a guide would be.\n",
    "LICENSE": b"Terms.\n",
}


def _press(side: str) -> Files:
    """One skill whose text is commands: each names a script, by a relative or an absolute path."""
    name, jobs = f"press-{side}", range(26)
    folder = {0: "scripts", 1: f"/root/.claude/skills/{name}/scripts"}
    told = (
        f"### Job {side} {n}\n\n```bash\npython3 {folder[n % 2]}/{side}{n}.py --plate p{n}\n```\n\n"
        for n in jobs
    )
    return {
        f"{name}/SKILL.md": (
            head(name, f"Prints at the {side} press.")
            + f"# Press {side}\n\n## Jobs\n\n{''.join(told)}"
        ).encode(),
        **{f"{name}/scripts/{side}{n}.py": f"print({n}, '{side}')\n".encode() for n in jobs},
    }


COMMANDS: Files = {**_press("east"), **_press("west")}

TRAPS: dict[str, Files] = {
    "report": REPORT, "line-ends": LINE_ENDS, "code": CODE, "open": OPEN, "labels": LABELS,
    "headless": HEADLESS, "bodyless": BODYLESS, "tiny": TINY, "wrong-case": WRONG_CASE,
    "two-roots": TWO_ROOTS, "whole-in-a-fence": WHOLE_IN_A_FENCE, "several": SEVERAL, "nested": NESTED, "forged": FORGED, "indented": INDENTED, "headings": HEADINGS, "data": DATA,
    "large": LARGE, "stale": STALE, "odd": ODD, "long-descriptions": LONG_DESCRIPTIONS,
    "crowded": CROWDED, "steps": STEPS, "union": UNION, "commands": COMMANDS, "routed": ROUTED, **RELAYS, **RICH, **ORDERED, **WORDED,
}  # fmt: skip


def bundle(name: str) -> Bundle:
    """One bundle in memory; scripts under `scripts/` are executable where they have a #! line."""
    files = {
        path: Blob(data, executable=data.startswith(b"#!")) for path, data in TRAPS[name].items()
    }
    return make_bundle(name, files)


def write(name: str, folder: Path) -> Path:
    """The same bundle on disk, as a folder of skills."""
    write_bundle(bundle(name).files, folder / name)
    return folder / name
