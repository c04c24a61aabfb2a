"""The page that shows where every unit of a source went in two variants."""

from itertools import groupby
from pathlib import Path
from typing import Any

from skilljuror.files import write_atomic
from skilljuror.reports.templating import environment


def write_units(found: Any, target: Path) -> None:
    """Write one self-contained HTML file.

    `found` carries name, a, b, counts and `passages` in source order (a `Differences` record).
    """
    files = [
        (file, list(passages))
        for file, passages in groupby(found.passages, key=lambda passage: passage.source.file)
    ]
    title = f"{found.name}: {found.a} and {found.b}"
    template = environment().get_template("units.html.j2")
    write_atomic(target, template.render(title=title, found=found, files=files))
