"""Make a variant of many sources by the package that PYTHONPATH names, and nothing else.

    python benchmarks/layout_variants.py VARIANT OUT < sources.json

Apart from the measures, so that the same measures can judge what another revision made. Proofs and
gates are left out: what is measured is the text.
"""

import json
import sys
from pathlib import Path

from skilljuror.audit.plans.render import render
from skilljuror.base.errors import SkilljurorError
from skilljuror.layouts.build.build import transforms_by_name
from skilljuror.skill.bundles import load_bundle, make_bundle, write_bundle


def make(source: Path, variant: str, target: Path) -> str | None:
    """Write the variant of a source; what was refused, or None."""
    try:
        bundles = {"source": load_bundle(source, inspect=False)}
        name = bundles["source"].name
        for transform in transforms_by_name([variant]).values():
            parent = bundles[transform.parent]
            files = render(transform.plan(parent, {}), parent)
            bundles[transform.variant] = make_bundle(name, files)
        write_bundle(bundles[variant].files, target)
    except SkilljurorError as error:
        return error.message
    return None


def main() -> None:
    """Each source into OUT/<number>; OUT/errors.json tells what was refused."""
    variant, out = sys.argv[1], Path(sys.argv[2])
    errors = {
        str(number): problem
        for number, source in enumerate(json.load(sys.stdin))
        if (problem := make(Path(source), variant, out / str(number)))
    }
    (out / "errors.json").write_text(json.dumps(errors), encoding="utf-8")


if __name__ == "__main__":
    main()
