"""`generate`: what a creator sees and may leave, what is copied, and what is recorded of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from skilljuror.base.errors import GateError, StudyError, UsageError
from skilljuror.base.files import StudyFolder, digest_tree, read_record
from skilljuror.base.study import StudyPlan, TrialRecord
from skilljuror.store.questions import run
from skilljuror.store.trials import ingest_trials
from skilljuror.study.check import check_study
from skilljuror.study.generate import Request, generate
from skilljuror.study.init_study import StudySource, init_study
from skilljuror.study.run import run_study
from tests.support import programs
from tests.support.cli_process import call
from tests.support.harness_tasks import REWARD, make_task, needs_bwrap, write_tree
from tests.support.loopback import model_server
from tests.support.scripted_model import WARNINGS, blocks
from tests.support.studies import edit_study

CREATOR = f"{programs.__name__}:creator"
CURATED = "---\nname: brew\ndescription: How to brew tea. Use for tea.\n---\n# Brew\n\n" + "".join(
    f"Leaf number {n} steeps for {n + 2} minutes in water of {n + 60} degrees, under the lid of cup {n * 7}.\n"
    for n in range(12)
)  # fmt: skip
SOLUTION = " ".join(f"pour cup{n} at degree{n * 3} then wait{n}" for n in range(12))
HEAD = "---\nname: steep\ndescription: Steep tea. Use for tea.\n---\n"


def leaves(text, path="generated-skills/steep/SKILL.md"):
    """A script that writes a file."""
    return f"mkdir -p {Path(path).parent}; cat > {path} <<'END'\n{text}\nEND\n"


GOOD = leaves(f"{HEAD}# Steep\n\nThe word is done.\n\nTea never boils.")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Two tasks with a Skill, a solution and a rubric; they are asked for by relative paths."""
    monkeypatch.chdir(tmp_path)
    for name in ("kettle", "urn"):
        files = {
            "task.toml": '[metadata]\ndomain = "kitchen"\n\n[verifier.env]\nKEY = "x"\n\n[agent]\ntimeout_sec = 9.0\n',
            "instruction.md": f"Make tea in the {name}: read `input.txt`, then write the word to out.txt.\n\nTea never boils.\n",
            "environment/input.txt": "tea\n",
            "environment/skills/brew/SKILL.md": CURATED,
            "solution/solve.sh": f"{SOLUTION}\necho done > out.txt\n",
            "tests/rubric.json": "{}",
        }
        write_tree(make_task(tmp_path / name), files)
    return tmp_path


def create(monkeypatch, script, *inputs, **more):
    """What a scripted creator was asked and left."""
    monkeypatch.setenv("CREATOR_SCRIPT", script)
    given: dict[str, Any] = {"by": "creator", "agent": CREATOR, "out": Path("gen")} | more
    return generate(Request(inputs=inputs or ("kettle",), **given))


SHOW = """
import json, os, sys
path = os.environ.get("SKILLS_DIR", "") + "/steep/SKILL.md"
steep = open(path).read() if os.path.exists(path) else ""
text = steep + (sys.stdin.read() if steep and "urn" in open(sys.argv[2]).read() else "")
open("out.txt", "w").write("done\\n" if "done" in steep else "tea\\n")
step = {"step_id": 1, "source": "agent", "message": "", "tool_calls": [
    {"tool_call_id": "c", "function_name": "bash", "arguments": {"command": "cat x"}}],
    "observation": {"results": [{"source_call_id": "c", "content": text}]}}
json.dump({"schema_version": "ATIF-v1.7", "session_id": sys.argv[1], "steps": [step],
    "agent": {"name": "shell", "version": "1"}}, open(sys.argv[1] + "/trajectory.json", "w"))
"""


@pytest.mark.slow
def test_only_the_folder_goes_from_a_creator_to_the_solver(place, monkeypatch):
    made = create(monkeypatch, 'find . "$TESTS_DIR" /solution -type f;' + GOOD, "kettle", "urn")
    assert [(one.skill, one.refused, one.scripted, one.leak) for one in made.skills] == [
        ("kettle", None, True, "ok"),
        ("urn", None, True, "ok"),
    ]
    assert (made.skills[0].units, made.skills[0].grounded) == (3, 1)  # as the instruction says
    seen = (place / "gen/create/trials/kettle__create__1/raw/agent-stdout.txt").read_text()
    assert seen.split() == ["./input.txt"]
    ordered = "".join(one.read_text() for one in (place / "gen/tasks").rglob("*") if one.is_file())
    assert not [word for word in ("cup7", "Leaf number", "echo done", "KEY") if word in ordered]
    assert (place / "gen/tasks/kettle/task.toml").read_text().count("[") == 2
    rows = run(place / "gen/create/study.duckdb", "generation").records()
    assert [(one["agent"], one["usage_reason"], one["leak"]) for one in rows] == [
        ("creator", "no_model", "ok")
    ] * 2

    tasks = (place / "kettle", place / "urn")
    init_study(StudySource(tasks=tasks, generated=place / "gen"), place / "study.yaml")
    script = f"python3 -c '{SHOW}' \"$2\" \"$1\" <<'END'\n{CURATED}END\n"
    agent = {"name": f"{programs.__name__}:shell", "options": {"script": script}}
    edit_study(place / "study.yaml", agent=agent, trials_per_cell=1, harness={"timeout_sec": 20})
    assert [one.verdict for one in check_study(place / "study.yaml").tasks] == ["ok", "ok"]
    out = StudyFolder(place / "out")
    run_study(place / "study.yaml", out.root)
    ingest_trials(out.root)
    arms = {arm: out.trial_record(f"kettle__{arm}__1") for arm in ("no_skill", "curated", "self")}
    records = {arm: read_record(TrialRecord, path) for arm, path in arms.items()}
    assert {arm: one.reward for arm, one in records.items()} == {
        "no_skill": 0, "curated": 0, "self": 1,
    }  # fmt: skip
    digest = made.skills[0].tree_digest
    assert digest == digest_tree(place / "gen/skills/kettle") == records["self"].variant_digest
    assert read_record(StudyPlan, out.plan_file).tasks[0].given["self"].tree_digest == digest
    # an arm with a Skill of its own must not show the one that it was not offered
    flags = run(out.database, "SELECT trial, flag FROM contaminations ORDER BY ALL").rows
    assert flags == [("urn__self__1", "skill_text_shown")]
    rows = run(out.database, "given_skills").records()
    assert [(row["path"], row["compared_with"]) for row in rows] == [
        ("gen/skills/kettle", "origin"),
        ("gen/skills/urn", "origin"),
    ]
    done = call("report", "out", cwd=place)
    assert done.returncode == 0, done.stderr


HOSTILE = {
    "ln -s /etc/passwd generated-skills/steep/x": "generated-skills/steep/x: a link out of the work",
    "ln -s SKILL.md generated-skills/steep/x": "generated-skills/steep/x is not a regular file",
    "mv generated-skills other; ln -s other generated-skills": "generated-skills",
    "echo x > generated-skills/steep/x; chmod 0 generated-skills/steep/x": "generated-skills/steep/x",
    "mkfifo generated-skills/steep/x": "generated-skills/steep/x: not a regular file",
    "truncate -s 2G generated-skills/steep/x": "generated-skills/steep/x",
    "mv generated-skills other": "no folder generated-skills/; 'other/steep/SKILL.md' is outside of it",
    "mv generated-skills ../generated-skills": "no folder generated-skills/",
    "mv generated-skills/steep/SKILL.md generated-skills/steep/README.md": "no folder has a SKILL.md",
    "mv generated-skills/steep/SKILL.md generated-skills": "generated-skills/SKILL.md is in no folder of its own",
    "mkdir generated-skills/more; echo more > generated-skills/more/README.md": "'more/README.md' is in no",
    "echo more >> generated-skills/README.md": "'README.md' is in no folder with a SKILL.md",
    "sed -i 1d generated-skills/steep/SKILL.md": "steep/SKILL.md: has no frontmatter",
    "mv generated-skills/steep generated-skills/other": "other/SKILL.md",
    "head -c 60000 /dev/zero | tr '\\0' 'a ' >> generated-skills/steep/SKILL.md": "more than the 100 allowed",
    "rm -r generated-skills; exit 1": "no folder generated-skills/; the agent ended with status 1",
}  # fmt: skip


@pytest.mark.slow
@needs_bwrap
def test_answers_that_do_not_count_are_one_line_each_and_not_copied(place, monkeypatch):
    cases = []
    for number, harm in enumerate(HOSTILE):
        write_tree(make_task(place / f"t{number}"), {"instruction.md": f"Brew pot {number}.\n"})
        cases.append(f"*'pot {number}.'*) {harm} ;;")
    script = f'{GOOD}case "$(cat "$1")" in\n{chr(10).join(cases)}\nesac\n'
    tasks = [f"t{number}" for number in range(len(HOSTILE))]
    made = create(monkeypatch, script, *tasks, tokens=100)
    for one, harm in zip(made.skills, HOSTILE, strict=True):
        assert one.refused, harm
        assert HOSTILE[harm] in one.refused, harm
        assert "\n" not in one.refused
    assert not (place / "gen/skills").exists()
    rows = run(place / "gen/create/study.duckdb", "generation").records()
    assert {(row["tokens"], row["leak"]) for row in rows} == {(None, None)}


@pytest.mark.slow
def test_a_creator_that_leaks_is_refused_by_name(place, monkeypatch):
    leaking = leaves(f"{HEAD}# Steep\n\n{SOLUTION}")
    create(monkeypatch, f'{GOOD}grep -q urn "$1" || exit 0\n{leaking}', "kettle", "urn")
    tasks = (place / "kettle", place / "urn")
    init_study(StudySource(tasks=tasks, generated=place / "gen"), place / "study.yaml")
    agent = {"name": f"{programs.__name__}:shell", "options": {"script": "true"}}
    edit_study(place / "study.yaml", agent=agent, trials_per_cell=1)
    with pytest.raises(GateError, match="task 'urn': the Skill of self gives the answer away"):
        run_study(place / "study.yaml", place / "out")
    assert StudyFolder(place / "out").finished_trials() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "leak", "reason"),
    [
        (SOLUTION, "fail", "runs of solution and verifier in steep/SKILL.md"),
        ("Read input.txt first.", "review", "instance: names input.txt of the instruction"),
        ("Read it first.", "ok", None),
    ],
)
def test_a_generated_skill_has_a_leak_verdict(place, monkeypatch, text, leak, reason):
    (one,) = create(monkeypatch, leaves(f"{HEAD}# Steep\n\n{text}")).skills
    assert (one.refused, one.leak) == (None, leak)
    assert one.leak_reason is None if reason is None else reason in one.leak_reason


@pytest.mark.slow
def test_each_trial_gives_a_skill_and_a_repeated_call_resumes(place, monkeypatch):
    script = leaves(f"{HEAD}Pot $4.").replace("'END'", "END")
    first = create(monkeypatch, script, trials=2)
    assert [one.skill for one in first.skills] == ["kettle/1", "kettle/2"]
    assert len({one.tree_digest for one in first.skills}) == 2
    assert create(monkeypatch, script, trials=2) == first
    with pytest.raises(StudyError, match="other tasks, trials or another agent"):
        create(monkeypatch, script, "kettle", "urn", trials=2)
    (place / "gen/skills/kettle/1/steep/SKILL.md").write_text("mine")
    with pytest.raises(StudyError, match="is not what was generated"):
        create(monkeypatch, script, trials=2)


@pytest.mark.slow
def test_each_trial_of_a_solver_is_offered_a_skill_of_its_own(place, monkeypatch):
    made = create(monkeypatch, leaves(f"{HEAD}Pot $4.").replace("'END'", "END"), trials=2)
    init_study(
        StudySource(tasks=(place / "kettle",), generated=place / "gen"), place / "study.yaml"
    )
    script = "cp $3/steep/SKILL.md out.txt; true"
    agent = {"name": f"{programs.__name__}:shell", "options": {"script": script}}
    edit_study(place / "study.yaml", agent=agent, harness={"timeout_sec": 20})
    out = StudyFolder(place / "out")
    run_study(place / "study.yaml", out.root)
    ingest_trials(out.root)
    digests = "SELECT variant, variant_digest FROM trials WHERE condition = 'self' ORDER BY number"
    assert run(out.database, digests).rows == [
        (f"self-{number}", one.tree_digest) for number, one in enumerate(made.skills, 1)
    ]
    assert not run(out.database, "FROM contaminations").rows
    rows = run(out.database, "given_skills").records()
    assert [row["condition"] for row in rows] == ["self-1", "self-2"]
    rows = run(out.database, "skill_leaks").records()
    assert [row["condition"] for row in rows] == ["curated", "self-1", "self-2"]
    arm = {"name": "self", "skill": "gen/skills/{task}/{number}"}
    edit_study(place / "study.yaml", conditions=[{"name": "self-1"}, arm], contrast=None)
    with pytest.raises(StudyError, match="duplicate condition 'self-1'"):
        run_study(place / "study.yaml", place / "other")


@pytest.mark.slow
def test_the_creator_for_a_skill_is_offered_it(place, monkeypatch):
    script = 'cp "$3/brew/SKILL.md" page; sed -i s/brew/steep/ page;' + leaves("x")
    script += "cp page generated-skills/steep/SKILL.md"
    (one,) = create(monkeypatch, script, "kettle/environment/skills").skills
    assert (one.skill, one.task, one.refused, one.leak) == ("library", None, None, None)
    assert one.grounded == one.units == one.carried == one.source_units


TASK = {
    "instruction.md": "Write the word of the Skill to out.txt.\n",
    "environment/cup.txt": "tea\n",
    "tests/test.sh": REWARD,
    "solution/solve.sh": "echo done > out.txt\n",
    "task.toml": "[metadata]\ncategory = 'kitchen'\n",
}


@pytest.mark.slow
@needs_bwrap
def test_tasks_for_a_skill_count_if_they_prove_themselves(place, monkeypatch):
    changes: dict[str, dict[str, Any]] = {
        "good": {},
        "free": {"tests/test.sh": 'echo 1 > "$LOGS_DIR/verifier/reward.txt"\n'},
        "false": {"solution/solve.sh": "true\n"},
        "told": {"solution/solve.sh": f"{CURATED}\necho done > out.txt\n"},
        "bare": {"solution/solve.sh": None},
    }
    script = "".join(
        leaves(text, f"generated-tasks/{name}/{path}")
        for name, changed in changes.items()
        for path, text in (TASK | changed).items()
        if text
    )
    made = create(monkeypatch, script, "kettle/environment/skills", of="tasks")
    assert {one.skill: one.refused for one in made.skills} == {
        "bare": "it has no solution/solve.sh",
        "false": "its solution gets reward 0; expected 1",
        "free": "an empty run gets reward 1: the verifier accepts anything",
        "good": None,
        "told": "the Skill has 216 runs of its solution and tests",
    }
    assert [path.name for path in (place / "gen/made-tasks").iterdir()] == ["good"]


def test_an_outline_is_lines_of_its_source_the_tasks_first(place):
    pages = {
        "docs/a.md": f"---\ntitle: A\n---\n# Pots\n\n{'Glaze pots before fire. ' * 20}\n\n## Kettle\n\n"
        "A kettle wants soft water.\n\n```sh\nboil --soft kettle\n```\n",
        "docs/b.md": "# Cups\n\n" + "".join(f"- Cup {n} holds {n} drops.\n\n" for n in range(40)),
        "docs/LICENSE.md": "Free for all who drink tea.\n",
    }
    write_tree(place, pages)
    request = Request(
        inputs=("docs",), by="outline", out=place / "gen", task=Path("kettle"), tokens=80
    )
    (one,) = generate(request).skills
    assert (one.tokens or 99) <= 80
    assert (one.units, one.grounded, one.carried, one.source_units) == (4, 4, 4, 65)
    text = (place / "gen/skills/kettle/kettle/SKILL.md").read_text()
    lines = [line for line in text.partition("\n---\n")[2].splitlines() if line]
    assert lines == [
        "# Pots", "## Kettle", "A kettle wants soft water.", "```sh", "boil --soft kettle", "```",
    ]  # fmt: skip
    assert (place / "gen/skills/kettle/kettle/LICENSE.md").read_text() == pages["docs/LICENSE.md"]
    with pytest.raises(UsageError, match="raise --tokens"):
        generate(Request(inputs=("docs",), by="outline", out=place / "g", tokens=9))


@WARNINGS
def test_a_prompt_is_one_call_and_is_paid_once(place, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")
    files = [{"path": "steep/SKILL.md", "text": f"{HEAD}Tea never boils."}]
    with model_server(lambda body, n: json.dumps({"files": files})) as (address, requests):
        given: dict[str, Any] = {
            "by": "prompt",
            "model": "openai/scripted",
            "api_base": address,
            "trials": 2,
        }
        request = Request(inputs=("kettle",), out=place / "gen", **given)
        made = generate(request)
        assert generate(request) == made
    assert len(requests) == 2
    asked = blocks(requests[0]["messages"])["source"]
    assert [one["path"] for one in asked] == ["environment/input.txt", "instruction.md"]
    assert [(one.skill, one.output_tokens, one.refused) for one in made.skills] == [
        ("kettle/1", 100, None),
        ("kettle/2", 100, None),
    ]
    rows = run(place / "gen/create/study.duckdb", "generation").records()
    assert [(row["input_tokens"], row["minutes"], row["grounded"]) for row in rows] == [
        (1000, None, 1)
    ] * 2


@pytest.mark.slow
@needs_bwrap
def test_the_command_prints_figures_and_what_comes_next(place):
    program = write_tree(place, {"make.sh": f"#!/bin/bash\n{GOOD}"}) / "make.sh"
    words = ("generate", "kettle", "--by", "command", "--argv", program, "--out", "gen")
    done = call(*words, cwd=place)
    assert done.returncode == 0, done.stderr
    assert "kettle" in done.stdout
    assert done.stdout.splitlines()[-1] == (
        "next: skilljuror init --task kettle --generated gen --out study.yaml"
    )
    done = call(*words, "--tokens", 5, "--out", "other", cwd=place)
    assert done.returncode == 1
    assert "refused: kettle: it has" in done.stdout


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"by": "slice"},
            "unknown generator 'slice'; choose one of creator, prompt, outline, command",
        ),
        ({"by": "creator"}, "--by creator requires --agent"),
        ({"by": "outline", "model": "m"}, "--by outline takes no --model"),
        ({"by": "prompt"}, "--by prompt requires --model"),
        ({"by": "outline", "trials": 2}, "the same Skill every time"),
        ({"by": "outline", "task": Path("urn")}, "--task needs a source"),
        ({"by": "outline", "inputs": ("kettle", "gen")}, "'gen' is not a task"),
        ({"by": "outline", "inputs": ("kettle", "kettle")}, "two tasks are named 'kettle'"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(place, more, message):
    with pytest.raises(UsageError, match=message):
        generate(Request(**{"inputs": ("kettle",), "out": place / "gen"} | more))
