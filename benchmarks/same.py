"""Does a change of the code leave every answer as it was? The yardstick of a redesign.

    python -m benchmarks.same write OUT [--tree TREE] [--inputs DIR] [--part NAME] [--dirs DIR...]
    python -m benchmarks.same compare OLD NEW

`write` asks the program of a checkout (TREE; default: this one) about the same inputs and writes every answer as lines of
text below OUT: the resource events of all logs, alone and with the Skills at hand; every question and paper table of three
studies (logs, the demo's trials, the reference study of published counts), tracing verdicts included; trees, gates and findings of the
Skills below the folders DIR; the findings of Skills that their authors split; exit status and JSON of commands. `compare` prints one row per
answer that differs. Only the command line and the study's files are used, so that the code may move. The trials are run once, and kept in
`--inputs` (out/same/inputs): times in the answers are theirs.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"
PARTS = ("events", "studies", "builds", "splits", "commands")
VOLATILE = {"skilljuror_version", "schema_sha256", "code_digest", "as_of"}
"""Columns of the database that name the code or the day."""
_CODE = re.compile(r'"code_digest": "[0-9a-f]+"')


class Program(NamedTuple):
    """The command line of one checkout, and where its answers go."""

    tree: Path
    out: Path

    def call(self, *words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of the checkout."""
        return self._run("-m", "skilljuror", *map(str, words), cwd=cwd or self.out)

    def python(self, script: str, *words: str | Path) -> str:
        """Return what a script prints that imports the checkout."""
        done = self._run("-c", script, *map(str, words), cwd=self.out)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONPATH": str(self.tree), "COLUMNS": "200", "NO_COLOR": "1"}
        return subprocess.run(
            [sys.executable, "-P", *words], cwd=cwd, env=env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def answer(self, name: str, lines: Sequence[str]) -> None:
        """Keep an answer."""
        path = self.out / "answers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        places = (str(self.out), str(self.tree), str(SHARED), str(ROOT))
        text = "\n".join(lines)
        for place in places:
            text = text.replace(place, "~")
        path.write_text(text + "\n", encoding="utf-8")


def logs_of(folder: Path) -> list[Path]:
    """The folders of logs below the corpus, and the golden logs."""
    found = [
        path for path in sorted(folder.iterdir()) if path.is_dir() and path.name != "skill-bundles"
    ]
    return [*found, ROOT / "trajectories"]


def write_events(program: Program) -> None:
    """Resource events of every log, alone and with all known Skills as the offered ones."""
    bundles = program.out / "bundles"
    shutil.copytree(SHARED / "corpus" / "skill-bundles", bundles, symlinks=True, dirs_exist_ok=True)
    for folder in logs_of(SHARED / "corpus"):
        for kind, more in (("alone", ()), ("bundle", ("--bundle", bundles))):
            done = program.call("events", folder, *more)
            program.answer(f"events/{folder.name}-{kind}.txt", sorted(done.stdout.splitlines()))


def write_studies(program: Program, inputs: Path) -> None:
    """Every table, question and paper table of three studies."""
    logs = program.out / "logs"
    _said(program, "logs", "ingest", *logs_of(SHARED / "corpus"), "--study", logs, "--yes")
    _study(program, "logs", logs)
    for name in ("demo", "reference"):
        study = program.out / name
        shutil.rmtree(study, ignore_errors=True)
        shutil.copytree(inputs / name, study, symlinks=True)
        _said(program, name, "ingest", "--study", study)
        _study(program, name, study)


def _said(program: Program, name: str, *words: str | Path) -> None:
    done = program.call(*words)
    program.answer(f"{name}/{words[0]}.txt", [f"exit {done.returncode}", *done.stdout.splitlines()])


_ASK = """
import json, sys
from skilljuror import open_study

study = open_study(sys.argv[1])
tables = "SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
names = [row["table_name"] for row in study.rows(tables)]
asked = {f"table-{name}": f"SELECT * FROM {name} ORDER BY ALL" for name in names}
asked |= {f"question-{name}": name for name in study.questions()["name"]}
for name, question in asked.items():
    try:
        rows = study.rows(question)
    except Exception as error:
        rows = [{"error": str(error)}]
    print(json.dumps([name, rows], default=str, ensure_ascii=False))
"""
"""Asks a study every table and question, in one process, by the notebook API."""


def _study(program: Program, name: str, study: Path) -> None:
    _said(program, name, "judge", study)
    for line in program.python(_ASK, study).splitlines():
        asked, rows = json.loads(line)
        kept = [{key: value for key, value in row.items() if key not in VOLATILE} for row in rows]
        program.answer(f"{name}/{asked}.txt", [json.dumps(row, ensure_ascii=False) for row in kept])
    done = program.call("report", study, "--paper", "--out", program.out / f"{name}-report")
    program.answer(f"{name}/report.txt", [f"exit {done.returncode}"])
    for path in sorted((program.out / f"{name}-report").rglob("*.csv")):
        program.answer(f"{name}/paper-{path.stem}.txt", path.read_text("utf-8").splitlines())


def write_builds(program: Program, folders: Sequence[Path]) -> None:
    """Digests of all variants, gate rows and findings of real Skills; knowledge maps by their size."""
    from benchmarks.construction import sources_below

    sources = [source for folder in folders for source in sources_below(folder)]
    place = program.out / "builds"
    for number, source in enumerate(sources):
        target = place / str(number)
        shutil.rmtree(target, ignore_errors=True)
        done = program.call("build", source, "--out", target, "--json")
        name = f"builds/{number:03}-{source.name}.txt"
        if done.returncode not in (0, 1, 3):
            program.answer(name, [f"exit {done.returncode}", *done.stderr.splitlines()])
            continue
        lines = [f"exit {done.returncode}"]
        record = json.loads((target / "build.json").read_text("utf-8"))
        lines += [
            json.dumps([
                variant[key]
                for key in ("variant", "verdict", "tree_digest", "tokens", "root_tokens")
            ])
            for variant in record["variants"]
        ]
        for rows in ("gates.jsonl", "knowledge.jsonl"):
            text = (target / rows).read_text("utf-8") if (target / rows).is_file() else ""
            lines += [f"{rows} {line}" for line in sorted(text.splitlines())]
        program.answer(name, lines)
        shutil.rmtree(target)


def write_splits(program: Program) -> None:
    """The audit of Skills that their authors split."""
    for split in sorted(path for path in (SHARED / "splits").iterdir() if path.is_dir()):
        done = program.call("audit", split / "before", split / "after", "--details")
        program.answer(
            f"splits/{split.name}.txt", [f"exit {done.returncode}", *done.stdout.splitlines()]
        )


def commands(study: Path, skill: Path) -> Iterator[tuple[str | Path, ...]]:
    """Command lines whose exit status and JSON are compared."""
    yield ("query", study, "overview")
    yield ("query", study, "no_such_question")
    yield ("query", study / "missing", "overview")
    yield ("show", study)
    yield ("show", study, "no-such-trial")
    yield ("heat", study)
    one = next(path.parent for path in sorted(skill.rglob("SKILL.md")))
    yield ("advise", one)
    yield ("audit", skill, one)
    yield ("build", skill, "--out", "built")
    yield ("verify", "built")
    yield ("waive", "built")
    yield ("audit", "--rules", "edit.lost")
    yield (
        "init",
        "--task",
        ROOT / "examples/tasks/alert-rules",
        "--skill",
        skill,
        "--out",
        "made.yaml",
    )
    yield ("plan", "made.yaml")
    yield ("events", ROOT / "trajectories/codex-rollout/skill-read")
    yield ("ingest", ROOT / "trajectories/codex-rollout", "--study", "mine")
    yield ("judge", "mine")
    yield ("report", "mine")
    yield ("query", "mine", "--out", "exported")
    yield ("run", "no-such.yaml")
    yield ("check", "no-such.yaml")


def write_commands(program: Program) -> None:
    """Exit status and JSON of commands, each after the last."""
    place = program.out / "commands"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for number, words in enumerate(
        commands(program.out / "demo", ROOT / "examples/skills/log-triage")
    ):
        done = program.call(*words, "--json", cwd=place)
        text = _CODE.sub(
            '"code_digest": "~"', (done.stdout or done.stderr).replace(str(place), "~")
        )
        program.answer(
            f"commands/{number:02}-{words[0]}.txt", [f"exit {done.returncode}", *text.splitlines()]
        )


def make_inputs(inputs: Path) -> None:
    """Run the demo once, and write the reference study."""
    if (inputs / "done").is_file():
        return
    shutil.rmtree(inputs, ignore_errors=True)
    inputs.mkdir(parents=True)
    program = Program(ROOT, inputs)
    done = program.call("demo", "--out", inputs / "demo")
    assert done.returncode == 0, done.stderr
    from tests.support import reference_study

    reference_study.write(inputs / "reference")
    for made in ("study.duckdb", "report"):
        path = inputs / "demo" / made
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (inputs / "done").write_text("")


def compare(old: Path, new: Path) -> int:
    """Print one row per answer that differs; the number of them."""
    folders = (old / "answers", new / "answers")
    names = sorted({
        str(path.relative_to(folder)) for folder in folders for path in folder.rglob("*.txt")
    })
    different = 0
    for name in names:
        lines = [
            Counter((folder / name).read_text("utf-8").splitlines())
            if (folder / name).is_file()
            else None
            for folder in folders
        ]
        before, after = lines
        if before == after:
            continue
        different += 1
        if before is None or after is None:
            print(f"{name}: {'only before' if after is None else 'only after'}")
            continue
        gone, come = before - after, after - before
        print(f"{name}: {before.total()} lines, {gone.total()} gone, {come.total()} new")
        for sign, counted in (("-", gone), ("+", come)):
            for line in list(counted)[:2]:
                print(f"  {sign} {line[:220]}")
    print(f"{len(names) - different} of {len(names)} answers are the same")
    return different


def main(argv: Sequence[str] | None = None) -> int:
    """Write answers, or compare two folders of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    doing = parser.add_subparsers(dest="doing", required=True)
    write = doing.add_parser("write")
    write.add_argument("out", type=Path)
    write.add_argument("--dirs", type=Path, nargs="*", default=[])
    write.add_argument("--tree", type=Path, default=ROOT)
    write.add_argument("--inputs", type=Path, default=ROOT / "out/same/inputs")
    write.add_argument("--part", action="append", choices=PARTS)
    other = doing.add_parser("compare")
    other.add_argument("old", type=Path)
    other.add_argument("new", type=Path)
    given = parser.parse_args(argv)
    if given.doing == "compare":
        return 1 if compare(given.old, given.new) else 0
    program, inputs = Program(given.tree.resolve(), given.out.resolve()), given.inputs.resolve()
    program.out.mkdir(parents=True, exist_ok=True)
    make_inputs(inputs)
    for part in given.part or PARTS:
        started = time.monotonic()
        if part == "events":
            write_events(program)
        elif part == "studies":
            write_studies(program, inputs)
        elif part == "builds":
            write_builds(program, [folder.resolve() for folder in given.dirs])
        elif part == "splits":
            write_splits(program)
        else:
            write_commands(program)
        print(f"{part}: {time.monotonic() - started:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
