"""What the gates say of real Skills: the table of docs/construction.md, and whether it is stale.

    python -m benchmarks.sources [-j N] [--json] DIR...
    python -m benchmarks.sources --check

A row is one folder: all Skills of a task (a folder with an instruction.md), or else each outermost
folder with a SKILL.md. Every source is built by the plan engine, policy "strict". The last line
names the rules: a digest of the code of transforms, gates and knowledge, comments aside, and of
the packaged policies. With --check that of the page is compared with that of the code, and no source is needed.
"""

import argparse
import ast
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.construction import build_once, sources_below
from skilljuror.layouts.build.build import DEFAULT_VARIANTS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "construction.md"
RULES = (
    "skilljuror/layouts", "skilljuror/audit", "skilljuror/skill", "skilljuror/base/texts.py",
    "skilljuror/base/skill.py", "rubrics/policy-strict.yaml", "transforms/disclose-progressively/conditions.yaml",
)  # fmt: skip
"""What decides the verdict of a variant made by the plan engine."""
VERDICTS = ("pass", "review", "fail")
_MEASURED = re.compile(r"measured at rules ([0-9a-f]{12})\b")

Row = dict[str, Any]


def rules_digest(root: Path = ROOT) -> str:
    """Twelve hex digits of a sha256 over the paths of the rules and what they say: of code the syntax
    tree without comments and docstrings, of other files the bytes."""
    digest = hashlib.sha256()
    for part in (root / name for name in RULES):
        files = (path for path in part.rglob("*") if path.suffix in {".py", ".yaml", ".json"})
        for path in sorted(files) if part.is_dir() else [part]:
            content = _code(path.read_text("utf-8")) if path.suffix == ".py" else path.read_bytes()
            digest.update(f"{path.relative_to(root).as_posix()}\0".encode() + content)
    return digest.hexdigest()[:12]


def _code(text: str) -> bytes:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_text(one)]  # type: ignore[attr-defined]
    return ast.dump(tree).encode()


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a bare string: a docstring, or the text below a field."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def check(page: Path = PAGE) -> str | None:
    """What is wrong with the table of a page; None where it was measured at today's rules."""
    found, today = _MEASURED.search(page.read_text(encoding="utf-8")), rules_digest()
    if found is None:
        return f"{page.name}: no line says 'measured at rules'; run make sources DIRS=…"
    if found[1] != today:
        return (
            f"{page.name}: the table of real sources is stale: measured at rules {found[1]},"
            f" the code has {today}; run make sources DIRS=…"
        )
    return None


def row(folder: Path, built: Sequence[Row], sources: Sequence[Path]) -> Row:
    """One line of the table: `built` has a row of `build_once` for each of the sources."""
    verdicts = {variant: Counter[str]() for variant in DEFAULT_VARIANTS}
    for one in built:
        for variant, verdict in one.get("verdicts", {}).items():
            verdicts[variant][verdict] += 1
    return {
        "set": _name(folder), "commit": _commit(folder, sources), "sources": len(sources),
        "built": sum(one["error"] is None for one in built),
        "verdicts": {name: [counts[one] for one in VERDICTS] for name, counts in verdicts.items()},
        "reasons": {_short(one): why for one in built for why in [_why(one)] if why},
    }  # fmt: skip


def _short(built: Row) -> str:
    return Path(built["source"]).name


def _why(built: Row) -> str:
    return built["error"] or ", ".join(built["reasons"])


def _name(folder: Path) -> str:
    """Owner, repository and folder, where the repository lies in a folder of its owner's name."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    if top is None:
        return folder.name
    return "/".join((*Path(top).parts[-2:], *folder.relative_to(top).parts))


def _commit(folder: Path, sources: Sequence[Path]) -> str:
    """The commit that is checked out, with "+" where a source differs from it; – without git."""
    commit = _git(folder, "rev-parse", "--short=7", "HEAD")
    if commit is None:
        return "–"
    changed = _git(folder, "status", "--porcelain", "--", *map(str, sources))
    return f"{commit}+" if changed else commit


def _git(folder: Path, *words: str) -> str | None:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def lines(rows: Sequence[Row], today: date) -> Iterator[str]:
    """The table as Markdown, what it rests on, and every source that does not pass."""
    yield "| set | commit | built |" + "".join(f" {variant} |" for variant in DEFAULT_VARIANTS)
    yield "|---" * (3 + len(DEFAULT_VARIANTS)) + "|"
    for one in rows:
        cells = [one["set"], one["commit"], f"{one['built']} of {one['sources']}"]
        cells += [" / ".join(map(str, one["verdicts"][variant])) for variant in DEFAULT_VARIANTS]
        yield f"| {' | '.join(map(str, cells))} |"
    commit = _git(ROOT, "rev-parse", "--short=7", "HEAD") or "–"
    yield ""
    yield f"{today.isoformat()}, code at {commit}, measured at rules {rules_digest()}."
    yield ""
    for one in rows:
        for source, why in one["reasons"].items():
            yield f"- {one['set']}: {source}: {why}"


def measured(folder: Path, pool: ProcessPoolExecutor) -> Row:
    """One row, every source of the folder built once."""
    sources = sources_below(folder)
    with TemporaryDirectory() as target:
        build = partial(build_once, target=Path(target), variants=DEFAULT_VARIANTS)
        return row(folder, list(pool.map(build, sources)), sources)


def main(words: Sequence[str] | None = None) -> int:
    """Command line; 1 where the table is stale."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR")
    parser.add_argument("--check", action="store_true", help="is the table in the docs stale?")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args(words)
    if options.check:
        problem = check()
        print(problem or "the table of real sources was measured at today's rules")
        return int(problem is not None)
    if not options.folders:
        parser.error('name folders of Skills: make sources DIRS="skills …"')
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = [measured(folder.resolve(), pool) for folder in options.folders]
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        print("\n".join(lines(rows, date.today())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
