"""Bundles of hundreds of files, laid out once."""

from functools import cache

from skilljuror.audit.plans.render import render
from skilljuror.base.skill import Blob, Bundle, Plan
from skilljuror.skill.bundles import make_bundle
from tests.support.laid_out import transform

HEAD = "---\nname: {0}\ndescription: Fires {0}. Use when a kiln is cold.\n---\n# Kilns\n\n"
BODY = (
    "Read the page of the kiln first.\n\n## Steps\n\n1. Look.\n2. Heat.\n\n"
    "## Where to look\n\nSee [kiln 7](references/f7/p7.md) and `references/f9/p9.md`.\n"
)
PAGE = (
    "# Topic {0} of kilns\n\nUse cone {0} when kiln {0} is cold.\n\n## Heat {0}\n\n"
    "Heat it to {0} degrees. Keep the lid shut until the cone bends, and never open it before the "
    "kiln is below 60 degrees. Write the hour into the book of the kiln.{1}\n"
)


def _folders() -> dict[str, str]:
    """400 pages in 20 folders, each with a link into the next folder; one folder has an index."""
    pages = {
        f"k/references/f{n % 20}/p{n}.md": PAGE.format(
            n, f" See [next](../f{(n + 1) % 20}/p{(n + 1) % 400}.md#heat-{(n + 1) % 400})."
        )
        for n in range(400)
    }
    index = {"k/references/f3/README.md": "# Gas kilns\n\nEverything about kilns fired with gas.\n"}
    return {"k/SKILL.md": HEAD.format("k") + BODY, **pages, **index}


MANY_FILES = {
    "folders": _folders(),
    "one folder": {
        "k/SKILL.md": HEAD.format("k") + "Look it up.\n",
        **{f"k/references/p{n:03}.md": PAGE.format(n, "") for n in range(400)},
    },
    "no folder": {
        "k/SKILL.md": HEAD.format("k") + "Look it up.\n",
        **{f"k/p{n:03}.md": PAGE.format(n, "") for n in range(400)},
    },
    "deep": {
        "k/SKILL.md": HEAD.format("k") + "Look it up.\n",
        **{f"k/docs/a/{n % 3}/p{n:03}.md": PAGE.format(n, "") for n in range(700)},
    },
    "odd names": {
        "k/SKILL.md": HEAD.format("k") + "Look it up.\n",
        **{f"k/my docs/f({n % 10})/p {n}, x.md": PAGE.format(n, "") for n in range(300)},
        "k/my docs/f(3).md": "# Taken\n\nThis name is taken already.\n",
        "k/scripts/run.py": "print(1)\n",
        "k/LICENSE": "terms\n",
    },
    "union": {
        **{path.replace("k/", "k1/", 1): text for path, text in _folders().items()},
        "k2/SKILL.md": HEAD.format("k2") + "Look it up.\n",
        **{f"k2/q{n:03}.md": PAGE.format(n, "") for n in range(300)},
    },
}


@cache
def made_of(name: str) -> tuple[Plan, Bundle, Bundle]:
    """(plan, baseline, pd) of a case."""
    files = {path: Blob(text.encode()) for path, text in MANY_FILES[name].items()}
    made = make_bundle("k", files)
    for variant in ("baseline", "pd"):
        parent = made
        plan = transform(variant).plan(parent, {})
        made = make_bundle("k", render(plan, parent))
    return plan, parent, made
