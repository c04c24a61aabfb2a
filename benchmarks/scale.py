"""What questions and commands cost as a study grows: processor seconds and memory of each, at several sizes.

    python -m benchmarks.scale [--study out/demo] [--trials 10,40,150] [--work out/scale] [NAME …]

The studies are synthetic: the rows of the demo, ten times its tasks, with so many trials of every task and arm and 25
times the events of each. Their answers mean nothing. Names are those of questions, or of COMMANDS; all without a name.
"""

import argparse
import math
import os
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from skilljuror.store.questions import catalog

COMMANDS = {
    "report": ["report", "STUDY", "--out", "OUT"],
    "report, Markdown": ["report", "STUDY", "--format", "markdown"],
    "all tables": ["query", "STUDY", "--out", "OUT"],
}
START = "start"
COPIES, TIMES = 10, 25
"""Copies of each task, and of each event of a run."""
Costs = dict[str, tuple[float, int]]


_RUNS = """
CREATE TEMP TABLE copied AS
SELECT
    trial AS old, number + again * per AS number, concat(task, '-', copy) AS task,
    concat(task, '-', copy, '__', condition, '__', number + again * per) AS run,
    (SELECT max(ordinal) + 1 FROM old.events WHERE trajectory = trial) AS events
FROM old.planned_trials, (SELECT max(number) AS per FROM old.planned_trials), range({copies}) AS c (copy),
    range({trials}) AS r (again)
WHERE number + again * per <= {trials}
"""


def rows_of(table: str, columns: list[str]) -> str:
    """SQL of the rows of a table, multiplied; empty for a table without tasks and runs."""
    key = next((name for name in ("trajectory", "trial", "task", "build") if name in columns), "")
    if key in {"", "task", "build"}:
        named = f"* EXCLUDE (copy) REPLACE (concat({key}, '-', copy) AS {key})"
        return key and f"SELECT {named} FROM old.{table}, range({COPIES}) AS c (copy)"  # noqa: S608
    new = {"trajectory": "run", "trial": "run", "task": "r.task", "number": "r.number"}
    more, again = "", "0"
    if table in {"events", "verdicts"}:
        more, again = f", range({TIMES}) AS k (time)", "r.events * time"
    place = f"CAST(split_part(event, '#', -1) AS INTEGER) + {again}"
    new["event"] = f"concat(run, '#', {place})"
    new |= {"ordinal": place} if table == "events" else {}
    new |= (
        {"position": "row_number() OVER (ORDER BY r.number, run) - 1"}
        if table == "planned_trials"
        else {}
    )
    new |= {"events": f"t.events * {TIMES}"} if table == "verdict_counts" else {}
    picked = ", ".join(f"{value} AS {name}" for name, value in new.items() if name in columns)
    joined = f"(SELECT t.* REPLACE ({picked}) FROM old.{table} AS t JOIN copied AS r ON r.old = t.{key}{more})"  # noqa: S608
    return f"SELECT {', '.join(columns)} FROM {joined} ORDER BY {key}"  # noqa: S608


def multiply(study: Path, out: Path, trials: int) -> int:
    """Write a study of the rows of another one, with `trials` trials of each task and arm; return its runs."""
    out.mkdir(parents=True)
    for name in ("study.yaml", "plan.json", "study.duckdb"):
        shutil.copy(study / name, out / name)
    with duckdb.connect(str(out / "study.duckdb")) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"ATTACH '{study}/study.duckdb' AS old (READ_ONLY)")
        connection.execute(_RUNS.format(copies=COPIES, trials=trials))
        for (table,) in connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'old'"
        ).fetchall():
            columns = [row[0] for row in connection.execute(f"DESCRIBE old.{table}").fetchall()]
            if rows := rows_of(table, columns):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608
                connection.execute(f"INSERT INTO {table} BY NAME {rows}")
        connection.execute(f"UPDATE study SET trials_per_cell = {trials}")  # noqa: S608
        ((runs,),) = connection.execute("SELECT count(*) FROM trials").fetchall()
    return int(runs)


def cost(words: list[str]) -> tuple[float, int]:
    """Processor seconds and MiB of a command in a process of its own."""
    child = subprocess.Popen(
        [Path(sys.executable).with_name("skilljuror"), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"failed: skilljuror {' '.join(words)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def costs(study: Path, names: list[str]) -> Costs:
    """The cost of each question and command, by name, and that of starting."""
    with TemporaryDirectory() as folder:
        out = {"STUDY": str(study), "OUT": f"{folder}/out"}
        found = {START: cost(["query", str(study), "SELECT 1 AS one"])}
        for name in names:
            found[name] = cost([
                out.get(word, word) for word in COMMANDS.get(name, ["query", "STUDY", name])
            ])
            shutil.rmtree(out["OUT"], ignore_errors=True)
    return found


def main() -> None:
    """Print the table, the dearest first."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--study", type=Path, default=Path("out/demo"))
    parser.add_argument("--trials", default="10,40,150")
    parser.add_argument("--work", type=Path, default=Path("out/scale"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    names = given.names or [*COMMANDS, *(one.name for one in catalog())]
    tables: dict[int, Costs] = {}
    for trials in map(int, given.trials.split(",")):
        folder = given.work / str(trials)
        shutil.rmtree(folder, ignore_errors=True)
        with ProcessPoolExecutor(
            1, get_context("spawn")
        ) as pool:  # a child's memory starts at its parent's
            runs = pool.submit(multiply, given.study, folder, trials).result()
        tables[runs] = costs(folder, names)
    first, last = min(tables), max(tables)
    print("Synthetic: the demo's rows, multiplied. CPU s (MiB), start included.\n")
    print(
        f"| | {' | '.join(f'{runs:,} runs' for runs in tables)} | exponent |\n|---|{'---:|' * (len(tables) + 1)}"
    )
    for name in sorted(tables[last], key=lambda one: -tables[last][one][0]):
        beyond = [
            max(table[name][0] - table[START][0], 0.01) for table in (tables[first], tables[last])
        ]
        grows = (
            math.log(beyond[1] / beyond[0]) / math.log(last / first) if last > first else math.nan
        )
        cells = [
            f"{seconds:.2f} ({mib})" for seconds, mib in (table[name] for table in tables.values())
        ]
        print(f"| {name} | {' | '.join(cells)} | {'–' if math.isnan(grows) else f'{grows:.2f}'} |")


if __name__ == "__main__":
    main()
