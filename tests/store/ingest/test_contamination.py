"""Leaks planted one by one, each of another way, are found; what an agent may see is not taken for one."""

import json
import textwrap

import pytest

from skilljuror.base.files import StudyFolder
from skilljuror.base.texts import texts_below
from skilljuror.base.trajectory import Message
from skilljuror.layouts.build.protected_texts import save_fingerprints
from skilljuror.skill.generated import fill_template
from skilljuror.store.questions import run
from skilljuror.store.records import MeasureOptions
from skilljuror.store.trials import ingest_trials, search_leaks
from skilljuror.study.run import run_study
from tests.support.attribution_runs import ran, run_of
from tests.support.harness_tasks import SKILL, write_tree
from tests.support.places import EXAMPLES
from tests.support.studies import edit_study, make_study

TASK = EXAMPLES / "tasks" / "ledger-pages"
SKILLS = EXAMPLES / "skills" / "shop-reporting"
ROOT = (SKILLS / "shop-exports" / "SKILL.md").read_text()
REFERENCE = (SKILLS / "shop-exports" / "references" / "ledger-pages.md").read_text()
CHECK = (TASK / "tests" / "check.py").read_text()
EXPECTED = (TASK / "tests" / "expected.txt").read_text()
SOLUTION = (TASK / "solution" / "pages.py").read_text()
ROWS = "\n".join(
    fill_template(
        "row-file-why",
        {
            "path": f"references/{name}.md",
            "link": f"references/{name}.md",
            "topics": f"{name} and the totals of every page",
            "cue": f"When an export asks for {name}, follow its rules before you write a row.",
        },
    )
    for name in ("ledger-pages", "layouts", "money")
)
EXPORTS = "shop-exports"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study with the fingerprints of two tasks, of which the first has two layouts."""
    folder = StudyFolder(tmp_path_factory.mktemp("study"))
    layouts = {"baseline": ROOT + REFERENCE, "pd": f"{ROOT}\n{ROWS}\n"}
    for name, text in layouts.items():
        files = texts_below(SKILLS) | {f"{EXPORTS}/SKILL.md": text}
        write_tree(folder.variant("ledger-pages", name), files)
    save_fingerprints(folder, "ledger-pages", TASK, SKILLS)
    other = EXAMPLES / "tasks" / "rotor-hum"
    save_fingerprints(folder, "rotor-hum", other, EXAMPLES / "skills" / "signal-lab")
    return folder.root


def numbered(text):
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.splitlines(), 1))


def docstring(text):
    return f'def helper():\n    """\n{textwrap.indent(text, "    ")}\n    """\n    return 1\n'


PLANTED = {
    "a Skill's body under another name": (None, "cat guide.md", ROOT, "skill"),
    "a Skill's body in a subfolder": (None, "cat docs/more/notes.txt", ROOT, "skill"),
    "one reference file": (None, "cat pages.md", REFERENCE, "skill"),
    "a fragment of half a page": (None, "head -c 900 x", REFERENCE[600:1500], "skill"),
    "reflowed lines": (None, "cat x", textwrap.fill(REFERENCE, 37), "skill"),
    "changed case and markup": (None, "cat x", REFERENCE.upper().replace(" the ", " **the** "), "skill"),
    "a docstring": (None, "cat helper.py", docstring(REFERENCE), "skill"),
    "strings of JSON": (None, "cat x.json", json.dumps({"page": [REFERENCE]}, indent=1), "skill"),
    "numbered lines": (None, "cat -n x", numbered(REFERENCE), "skill"),
    "a SKILL.md elsewhere on the host": (
        None, "cat /home/me/checkout/skills/shop-exports/SKILL.md", ROOT, "skill",
    ),
    "lines that a search found": (
        None, "grep -rn . /srv",
        "\n".join(f"/srv/a.md:{at}:{line}" for at, line in enumerate(ROOT.splitlines(), 1)), "skill",
    ),
    "the verifier's program": ("pd", "cat /tests/check.py", CHECK, "verifier"),
    "the verifier's program under another name": ("pd", "cat helper.py", CHECK, "verifier"),
    "the expected answer": (None, "cat /tests/expected.txt", EXPECTED, "verifier"),
    "the expected answer from its own folder": ("pd", "cd /tests/; cat *", EXPECTED, "verifier"),
    "the solution": ("baseline", "cat /solution/pages.py", SOLUTION, "solution"),
    "another layout's routing table": ("baseline", "cat /tmp/other.md", ROWS, "layout"),
}  # fmt: skip


def found(study, variant, trajectory):
    return {row.kind: row for row in search_leaks(study, "ledger-pages", variant, trajectory)}


@pytest.mark.parametrize("leak", PLANTED)
def test_a_planted_leak_is_found_and_nothing_beside_it(study, leak):
    variant, command, output, kind = PLANTED[leak]
    rows = found(study, variant, run_of(ran("ls", "x"), ran(command, output)))
    assert [name for name, row in rows.items() if row.contaminated] == [kind]
    assert (rows[kind].agent, rows[kind].step) == ("main", 2)
    assert rows[kind].null_found == (None if kind == "layout" else 0)  # the other has one layout
    assert rows[kind].excerpt
    assert rows[kind].found <= rows[kind].searched


def test_text_that_reached_the_agent_without_a_call_is_found(study):
    told = Message("main", "other", REFERENCE, 2, 0)
    row = found(study, None, run_of(ran("ls", "x"), messages=(told,)))["skill"]
    assert (row.contaminated, row.step) == (True, 0)
    assert row.sources[0] == f"{EXPORTS}/references/ledger-pages.md"


HARMLESS = {
    "an agent reads the Skill that its arm offers": ("pd", "cat SKILL.md", ROOT + REFERENCE + ROWS),
    "an agent reads the layout that its arm offers": ("baseline", "cat SKILL.md", ROOT + REFERENCE),
    "the instruction": (None, "cat task.md", (TASK / "instruction.md").read_text()),
    "the environment": (None, "cat payments.csv", (TASK / "environment/payments.csv").read_text()),
    "a right answer reads like the expected one": (None, "cat ledger.txt", EXPECTED),
    "a few words": (None, "cat x", " ".join(REFERENCE.split()[40:53])),
    "another task's page": (
        None, "cat x",
        (EXAMPLES / "skills/log-triage/latency-reports/references/percentiles.md").read_text(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HARMLESS)
def test_what_an_agent_may_see_is_no_leak(study, case):
    variant, command, output = HARMLESS[case]
    rows = found(study, variant, run_of(ran(command, output)))
    assert rows
    assert [name for name, row in rows.items() if row.contaminated] == []


def test_what_the_agent_wrote_itself_was_not_shown_to_it(study):
    wrote = ran(f"cat > a.py <<'EOF'\n{SOLUTION}\nEOF")
    read = ran("cat a.py /solution/x", SOLUTION)
    assert not found(study, None, run_of(wrote, read))["solution"].contaminated
    assert found(study, None, run_of(read, wrote))["solution"].contaminated


def test_another_tasks_text_is_the_null(study):
    page = (EXAMPLES / "skills/signal-lab/tone-search/references/windows.md").read_text()
    row = found(study, None, run_of(ran("cat x", page)))["skill"]
    assert (row.found, row.contaminated) == (0, False)
    assert row.null_found
    assert row.null_found <= row.null_searched


def test_without_another_task_the_null_is_not_known(study, tmp_path):
    save_fingerprints(StudyFolder(tmp_path), "ledger-pages", TASK, SKILLS)
    row = found(tmp_path, None, run_of(ran("cat x", REFERENCE)))["skill"]
    assert (row.contaminated, row.null_searched, row.null_found) == (True, None, None)


def test_what_nobody_wrote_down_is_not_searched(tmp_path):
    assert search_leaks(tmp_path, "ledger-pages", None, run_of(ran("ls", ROOT))) == ()


OLD, NEW = (
    "".join(
        f"Pour cup {n} at {n + heat} degrees, then wait {n + 3} minutes by the blue clock.\n"
        for n in range(9)
    )
    for heat in (60, 90)
)


@pytest.mark.parametrize(
    ("arm", "text", "leaks"),
    [(None, OLD, ["skill"]), ("old", NEW, ["layout"]), ("new", OLD, ["layout"]), ("old", OLD, [])],
)
def test_skills_as_they_are_belong_to_their_own_arms(tmp_path, arm, text, leaks):
    study = StudyFolder(tmp_path)
    for name, page in (("old", OLD), ("new", NEW)):
        write_tree(study.given / "ledger-pages" / name, {"brew/SKILL.md": SKILL + page})
    save_fingerprints(study, "ledger-pages", TASK, None)
    rows = found(tmp_path, arm, run_of(ran("cat x", SKILL + text)))
    assert [name for name, row in rows.items() if row.contaminated] == leaks


@pytest.mark.parametrize(
    ("arm", "leaks"),
    [
        ("split", set()),  # the files of its references in the order of the source
        ("short", {"new", "all"}),
        ("placebo", {"old", "new", "all"}),
        ("own", {"old", "new", "all"}),
    ],
)
def test_an_arm_is_searched_for_the_part_of_a_skill_that_it_does_not_offer(tmp_path, arm, leaks):
    study, source = StudyFolder(tmp_path), f"{SKILL}{OLD}\n## New cups\n{NEW}"
    filler = "Every boat has a name, and every harbour knows a few of them.\n" * 9
    variants = {
        "split": {"SKILL.md": SKILL, "new.md": f"# New cups\n{NEW}", "old.md": OLD},
        "short": {"SKILL.md": SKILL + OLD},
        "placebo": {"SKILL.md": SKILL + filler},
        "twin": {"SKILL.md": SKILL + filler},
    }
    write_tree(tmp_path / "brew", {"SKILL.md": source})
    for name, files in variants.items():
        pages = {f"brew/{path}": text for path, text in files.items()}
        write_tree(study.variant("ledger-pages", name), pages)
    write_tree(study.given / "ledger-pages" / "own", {"brew/SKILL.md": f"{SKILL}Ask the cook.\n"})
    save_fingerprints(study, "ledger-pages", TASK, tmp_path / "brew")
    for shown, text in {"old": OLD, "new": NEW, "all": source, "filler": filler}.items():
        rows = found(tmp_path, arm, run_of(ran("cat x", text))).values()
        kinds = {row.kind for row in rows if row.contaminated} - {"layout"}
        assert kinds == ({"skill"} if shown in leaks else set()), shown


AGENT = """
import json, os, subprocess, sys
logs, command = sys.argv[1:]
text = subprocess.run(command, shell=True, capture_output=True, text=True).stdout
step = {"step_id": 1, "source": "agent", "message": "", "tool_calls": [
    {"tool_call_id": "c", "function_name": "bash", "arguments": {"command": command}}],
    "observation": {"results": [{"source_call_id": "c", "content": text}]}}
json.dump({"schema_version": "ATIF-v1.7", "session_id": logs, "steps": [step],
    "agent": {"name": "shell", "version": "1"}}, open(logs + "/trajectory.json", "w"))
"""


@pytest.mark.slow
def test_a_study_tells_which_of_its_trials_are_contaminated(tmp_path):
    (tmp_path / "agent.py").write_text(AGENT)
    script = f'echo done > out.txt; python3 {tmp_path}/agent.py "$2" "cat {tmp_path}/brew/*.md"'
    file = make_study(
        tmp_path, trials=1, script=script, variants={"bare": None, "flat": "baseline"}
    )
    page = " ".join(
        f"Steep leaf {number} for {number + 3} minutes at {number + 60} degrees, then fill cup {number + 200}."
        for number in range(1, 20)
    )
    (tmp_path / "brew" / "SKILL.md").write_text(f"{SKILL}\n{page}\n")
    edit_study(file, tasks=[{"path": "tea", "skills": "brew"}])
    out = tmp_path / "out"
    run_study(file, out)
    ingest_trials(out)
    database = StudyFolder(out).database
    contaminations = "SELECT trial, flag FROM contaminations"
    assert run(database, contaminations).rows == [("tea__bare__1", "skill_text_shown")]
    rows = {(row["condition"], row["kind"]): row for row in run(database, "leaks").records()}
    assert rows["bare", "skill"]["contaminated_trials"] == 1
    assert rows["bare", "skill"]["null_found"] is None
    assert ("flat", "skill") not in rows
    excerpts = "SELECT count(*) FROM leak_searches WHERE excerpt <> ''"
    assert run(database, excerpts).rows == [(1,)]
    ingest_trials(out, options=MeasureOptions(quotes=False))
    assert run(database, excerpts).rows == [(0,)]
    assert run(database, contaminations).rows
