"""Shapes that real agents write and that fool a search for paths: with a bundle, and without one.

Without a manifest nothing is known but what the log shows, so the outputs are what the commands
print; the expectations are those of the events (kind, resource, exposure).
"""

import pytest

from skilljuror.attribution.attribute import attribute
from skilljuror.models.trajectory import Call, Message, Result, Step, Trajectory
from tests.attribution.runs import (
    BUNDLE,
    FORMAT,
    ROOT,
    SKILL,
    TAXES,
    events_of,
    ran,
)

REFERENCES = f"{BUNDLE}/references"


def seen(command, output="", *, manifest=None, **more):
    """(kind, resource, exposure, lines) of one command in a log of its own."""
    return [
        (one.kind, one.resource, one.content_exposed, one.lines)
        for one in events_of(ran(command, output, **more), manifest=manifest)
    ]


def test_a_rule_echoed_between_two_files_is_not_the_front_matter():
    head, front = FORMAT.split("\n")[:10], SKILL.split("\n")[:10]
    output = "\n".join([*front, "---", *head]) + "\n"
    command = f"bash -lc 'cd {BUNDLE} && sed -n 1,10p SKILL.md && echo --- && sed -n 1,10p references/format.md'"
    assert seen(command, output) == [
        ("read", "SKILL.md", "partial", ((1, 10),)),
        ("read", "references/format.md", "partial", ((1, 10),)),
    ]


def test_a_rule_that_the_files_hold_too_parts_nothing():
    notes = "# Notes\n***\nOne.\n"
    command = f"cat {REFERENCES}/notes.md; echo '***'; cat {REFERENCES}/taxes.md"
    assert [one[2:] for one in seen(command, f"{notes}***\n{TAXES}")] == [("full", None)] * 2


@pytest.mark.parametrize(
    "loop",
    [
        'for f in format taxes; do echo "== $f"; cat @/$f.md; done',
        "for f in @/format.md @/taxes.md; do echo \"== $(basename $f .md)\"; cat \"$f\"; done",
        "for f in format.md taxes.md\ndo\n  printf '== %s\\n' ${f%.md}\n  cat @/$f\ndone",
        'cd @; for f in format taxes; do echo -e "\\n== $f"; sed -n 1,200p $f.md; done',
    ],
)  # fmt: skip
def test_a_loop_prints_its_files_one_after_the_other(loop):
    output = f"== format\n{FORMAT}== taxes\n{TAXES}"
    if "-e" in loop:
        output = "\n" + output.replace("== taxes", "\n== taxes")
    found = seen(loop.replace("@", REFERENCES), output)
    assert [one[:3] for one in found] == [
        ("read", "references/format.md", "full"),
        ("read", "references/taxes.md", "full"),
    ]


@pytest.mark.parametrize(
    ("command", "exposed"),
    [
        ("{ cat @/format.md; cat @/taxes.md; } | head -n 50", "full"),
        ("{ cat @/format.md; cat @/taxes.md; } | head -n 20", "partial"),
        ("(cat @/format.md; cat @/taxes.md) 2>&1 | sed -n '1,20p'", "partial"),
        ("for f in format taxes; do cat @/$f.md; done | head -20", "partial"),
        ("bash -lc 'cat @/format.md @/taxes.md' | head -20", "partial"),
        ("{ cat @/format.md; cat @/taxes.md; } > both.md", "none"),
        ("for f in format taxes; do cat @/$f.md; done > both.md", "none"),
        ("(cat @/format.md; cat @/taxes.md) | wc -l", "none"),
        ("if true; then cat @/format.md @/taxes.md; fi > /dev/null", "none"),
    ],
)
def test_what_a_group_prints_goes_through_what_follows_it(command, exposed):
    lines = (FORMAT + TAXES).splitlines()[: 20 if exposed == "partial" else 50]
    output = "" if exposed == "none" else "\n".join(lines) + "\n"
    found = seen(command.replace("@", REFERENCES), output)
    assert {one[:3] for one in found} == {
        ("read", "references/format.md", exposed),
        ("read", "references/taxes.md", exposed),
    }


def test_a_text_echoed_where_a_read_failed_may_be_missing():
    command = f"cat {BUNDLE}/SKILL.md || echo none; echo '== taxes'; cat {REFERENCES}/taxes.md"
    assert seen(command, f"{SKILL}== taxes\n{TAXES}") == [
        ("read", "SKILL.md", "full", ((1, 10),)),
        ("read", "references/taxes.md", "full", ((1, 3),)),
    ]


def test_an_exit_status_echoed_after_a_file_is_no_line_of_it():
    command = f'cat {REFERENCES}/taxes.md; echo "exit: $?"'
    assert seen(command, f"{TAXES}exit: 0\n") == [
        ("read", "references/taxes.md", "full", ((1, 3),))
    ]


def test_the_home_folder_need_not_be_known():
    for place in ("$HOME", "${HOME}", "~"):
        command = f"cat {place}/.agents/skills/ledger/SKILL.md"
        (event,) = events_of(ran(command, SKILL), manifest=None, home=None, format="codex-exec")
        assert (event.skill, event.resource, event.ok) == ("ledger", "SKILL.md", True)


@pytest.mark.parametrize(
    "command", [f"ls -R {ROOT}", f"find {ROOT} -type f", f"tree {ROOT}", f"ls -la {ROOT}/"]
)
def test_a_listing_of_all_skills_is_aimed_at_none(command):
    output = f"{ROOT}:\nledger\n\n{BUNDLE}:\nSKILL.md\nreferences\n"
    assert seen(command, output) == []


PYTHON = "python3 - <<'EOF'\n{}\nEOF"


@pytest.mark.parametrize(
    ("code", "exposed"),
    [
        ("t = open('@').read()\nprint(t)", "full"),
        ("from pathlib import Path\nprint(Path('@').read_text().strip())", "full"),
        ("with open('@') as f:\n    for line in f:\n        print(line, end='')", "full"),
        ("import sys\nsys.stdout.write(open('@').read())", "full"),
        ("for l in open('@').readlines():\n    print(f'> {l.rstrip()}')", "full"),
        ("def show(p):\n    print(open(p).read())\nshow('@')", "full"),
        ("def load():\n    return open('@').read()\nprint(load())", "full"),
        ("for l in open('@'):\n    if 'tax' in l:\n        print(l)", "partial"),
        ("t = open('@').read()\nprint(t.split('#')[1])", "partial"),
        ("import json\nprint(json.load(open('@'))['x'])", "partial"),
        ("t = open('@').read()\nprint(len(t))", "none"),
        ("import hashlib\nprint(hashlib.md5(open('@', 'rb').read()).hexdigest())", "none"),
        ("t = open('@').read()\nprint('tax' in t, t.count('tax'))", "none"),
        ("t = open('@').read()\nopen('copy.md', 'w').write(t)\nprint('copied')", "none"),
        ("import json\ndata = json.load(open('@'))\nprint('rules loaded')", "none"),
        ("import sys\nprint(open('@').read(), file=open('out.txt', 'w'))", "none"),
    ],
)
def test_python_shows_what_it_prints_of_a_file(code, exposed):
    command = PYTHON.format(code.replace("@", f"{REFERENCES}/taxes.md"))
    (found,) = seen(command, TAXES)
    assert found[:3] == ("read", "references/taxes.md", exposed)


def test_a_number_printed_by_python_is_not_taken_for_the_file():
    counted = ran(PYTHON.format(f"print(len(open('{REFERENCES}/taxes.md').read()))"), "94\n")
    shown = ran(f"cat {REFERENCES}/taxes.md", TAXES, call_id="c2", line=9)
    first, second = events_of(counted, shown, manifest=None)
    assert (first.content_exposed, first.via) == ("none", "python")
    assert (second.content_exposed, second.lines) == ("full", ((1, 3),))


def test_python_that_goes_through_a_list_of_files_reads_each():
    code = f"for n in ['format', 'taxes']:\n    print(open(f'{REFERENCES}/{{n}}.md').read())"
    found = seen(PYTHON.format(code), FORMAT + TAXES)
    assert [one[1] for one in found] == ["references/format.md", "references/taxes.md"]


def test_code_that_python_reads_and_runs_is_imported():
    command = f"python3 -c \"exec(open('{BUNDLE}/scripts/total.py').read())\""
    assert seen(command, "total 7\n") == [("import", "scripts/total.py", "none", None)]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("['cat', '@/references/taxes.md']", ("read", "references/taxes.md", "full")),
        ("['cat', '@/references/taxes.md'], capture_output=True", ("read", "references/taxes.md", "none")),
        ("['python3', '@/scripts/total.py', 'x.csv']", ("exec", "scripts/total.py", "none")),
        ("['@/scripts/total.sh']", ("exec", "scripts/total.sh", "none")),
        ("'uv run @/scripts/total.py', shell=True", ("exec", "scripts/total.py", "none")),
    ],
)  # fmt: skip
def test_a_child_process_of_python_does_what_its_command_says(call, expected):
    code = f"import subprocess\nsubprocess.run({call.replace('@', BUNDLE)})"
    assert [one[:3] for one in seen(PYTHON.format(code), TAXES)] == [expected]


@pytest.mark.parametrize(
    "command",
    [
        f"cp -r {BUNDLE} /tmp/mine && cat /tmp/mine/references/taxes.md",
        f"cp -r {BUNDLE} . && cat ledger/references/taxes.md",
        f"cp -r {BUNDLE}/references docs && cat docs/taxes.md",
        f"cp {REFERENCES}/taxes.md notes.md; cat notes.md",
        f"cp {REFERENCES}/taxes.md /tmp; cat /tmp/taxes.md",
        f"rsync -a {BUNDLE}/ /tmp/mine/ && cat /tmp/mine/references/taxes.md",
        f"ln -s {BUNDLE} kit && cat kit/references/taxes.md",
        f"ln -sfn {REFERENCES}/taxes.md t.md; cat t.md",
        f"cat {REFERENCES}/taxes.md > t.md && cat t.md",
        f"cp -r {BUNDLE} a && cp -r a b && cat b/references/taxes.md",
    ],
)
def test_a_copy_shows_what_the_original_says(command):
    found = [one for one in seen(command, TAXES) if one[2] != "none"]
    assert found == [("read", "references/taxes.md", "full", ((1, 3),))]


@pytest.mark.parametrize(
    "command",
    [
        f"cp -r {BUNDLE} . && cat notes.md README.md",
        f"cp -r {BUNDLE} /tmp && cat /tmp/references.md",
        f"cp {REFERENCES}/taxes.md . && cat other.md",
        f"cp -r {BUNDLE} /tmp/mine && cat /tmp/mine/unheard-of.txt",
        "mkdir -p skills/ledger && cp notes.md skills/ledger/SKILL.md && cat skills/ledger/SKILL.md",
    ],
)
def test_what_lies_beside_a_copy_is_none(command):
    assert [one for one in seen(command, TAXES) if one[2] != "none"] == []


def test_a_copied_script_that_is_run_is_helper_code():
    found = seen(f"cp -r {BUNDLE}/scripts tools && python3 tools/total.py x.csv", "total 7\n")
    assert [one[:2] for one in found] == [("import", "scripts/total.py")]


@pytest.mark.parametrize(
    ("command", "output", "paths"),
    [
        (f"cat {ROOT}/*/SKILL.md", SKILL, ["SKILL.md"]),
        (f"cd {ROOT} && for d in */; do head -20 $d/SKILL.md; done", SKILL, ["SKILL.md"]),
        (f"find {BUNDLE} -type f -exec cat {{}} +", SKILL, ["SKILL.md"]),
        (f"head -40 {REFERENCES}/*.md", f"==> {REFERENCES}/taxes.md <==\n{TAXES}", ["references/taxes.md"]),
        (f"cd {BUNDLE}; head -40 references/*", f"==> references/taxes.md <==\n{TAXES}", ["references/taxes.md"]),
        (f'for f in {REFERENCES}/*.md; do echo "## $(basename $f)"; cat $f; done', f"## taxes.md\n{TAXES}", ["references/taxes.md"]),
        (f'find {BUNDLE} -name "*.md" -print -exec cat {{}} \\;', f"{BUNDLE}/SKILL.md\n{SKILL}{REFERENCES}/taxes.md\n{TAXES}", ["SKILL.md", "references/taxes.md"]),
        (f"cat {REFERENCES}/*.md", "# Some text\nsee taxes.md and format.md for more\n", []),
    ],
)  # fmt: skip
def test_a_glob_means_the_files_that_the_output_names(command, output, paths):
    found = [one for one in seen(command, output) if one[0] == "read"]
    assert [one[1] for one in found] == paths


@pytest.mark.parametrize(
    "command",
    [
        "wc -l @ && sed -n '1,220p' @",
        "ls -la @; cat @",
        "test -f @ && cat @",
        "[ -r @ ] && cat @",
        "if [[ -e @ ]]; then cat @; fi",
        "stat @ >/dev/null; cat @",
    ],
)
def test_a_look_at_a_file_before_it_is_read_is_no_access_of_its_own(command):
    found = seen(command.replace("@", f"{REFERENCES}/taxes.md"), TAXES)
    assert [one[:2] for one in found] == [("read", "references/taxes.md")]


@pytest.mark.parametrize(
    "command",
    [f"test -f {BUNDLE}/SKILL.md && echo yes", f"[ -d {BUNDLE} ] || mkdir x", f"[[ -e {BUNDLE} ]]"],
)
def test_asking_whether_a_file_is_there_touches_nothing(command):
    assert seen(command, "yes\n") == []


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("awk '{print NR\": \"$0}' @", "1: # Taxes\n2: No\n3: Above\n", ("read", "full")),
        ("awk '{printf \"%s\\n\", $0}' @", TAXES, ("read", "full")),
        ("awk '{print $1}' @", "#\nNo\nAbove\n", ("read", "partial")),
        ("column -t @", TAXES, ("read", "partial")),
        ("tr a-z A-Z < @", TAXES.upper(), ("read", "partial")),
        ("printf '%s\\n' @ | xargs cat", TAXES, ("read", "full")),
        ("echo @ | xargs -I{} cat {}", TAXES, ("read", "full")),
        ("cat @ | grep tax | wc -l", "1\n", ("read", "none")),
        ("grep -o '12-tax' @", "12-tax\n", ("search", "partial")),
        ("sed -n -e 1,2p -e 3p @", TAXES, ("read", "partial")),
        ("git show HEAD:.claude/skills/ledger/references/taxes.md", TAXES, ("read", "full")),
    ],
)
def test_programs_that_print_a_file_in_their_own_way(command, output, expected):
    (found,) = seen(command.replace("@", f"{REFERENCES}/taxes.md"), output)
    assert (found[0], found[2]) == expected
    assert found[1] == "references/taxes.md"
    if found[0] == "search":
        assert found[3] is None


def other(name, text, *, ok=True, **arguments):
    """(kind, resource, exposure, lines) of a tool of some other server."""
    call = Call("c1", name, "other", 2, arguments=arguments, result=Result(text, 3, ok=ok))
    return [
        (one.kind, one.resource, one.content_exposed, one.lines)
        for one in events_of(call, manifest=None)
    ]


@pytest.mark.parametrize(
    ("name", "kind", "exposed"),
    [
        ("mcp__files__read_text_file", "read", "full"),
        ("getFileContents", "read", "full"),
        ("mcp__files__write_file", "write", "none"),
        ("create_file_at", "write", "none"),
        ("mcp__files__edit_file", "edit", "none"),
        ("deleteFile", "edit", "none"),
        ("mcp__files__get_file_info", "list", "none"),
        ("lint_markdown", "read", "none"),
    ],
)
def test_the_name_of_an_unknown_tool_tells_what_it_does(name, kind, exposed):
    found = other(name, TAXES if exposed == "full" else "done", path=f"{REFERENCES}/taxes.md")
    assert [one[:3] for one in found] == [(kind, "references/taxes.md", exposed)]


def test_a_tool_that_reads_many_files_heads_each():
    text = f"--- {BUNDLE}/SKILL.md ---\n\n{SKILL}\n\n--- {REFERENCES}/taxes.md ---\n\n{TAXES}\n\n--- End of content ---"
    paths = [f"{BUNDLE}/SKILL.md", f"{REFERENCES}/*.md"]
    assert other("read_many_files", text, paths=paths) == [
        ("read", "SKILL.md", "full", ((1, 10),)),
        ("read", "references/taxes.md", "full", ((1, 3),)),
    ]


def test_many_files_without_headings_share_an_output_and_no_lines():
    text = f"{SKILL}\n{TAXES}"
    paths = [f"{BUNDLE}/SKILL.md", f"{REFERENCES}/taxes.md"]
    assert {one[2:] for one in other("read_files", text, paths=paths)} == {("full", None)}


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        (r"Get-Content C:\Users\me\.codex\skills\ledger\SKILL.md", SKILL, ("full", ((1, 10),))),
        (r"type C:\Users\me\.codex\skills\ledger\SKILL.md", SKILL, ("full", ((1, 10),))),
        (r"Get-Content -Raw .\.claude\skills\ledger\SKILL.md | Select-Object -First 5", "\n".join(SKILL.split("\n")[:5]), ("partial", ((1, 5),))),
        (r"gc 'C:\Program Files\x\.agents\skills\ledger\SKILL.md' -TotalCount 5", "\n".join(SKILL.split("\n")[:5]), ("partial", ((1, 5),))),
    ],
)  # fmt: skip
def test_paths_of_windows(command, output, expected):
    (found,) = seen(command, output)
    assert (found[1], found[2:]) == ("SKILL.md", expected)


def test_a_command_typed_into_a_running_shell():
    typed = Call(
        "c2", "write_stdin", "poll", 5,
        arguments={"chars": f"python3 {BUNDLE}/scripts/total.py\n"}, command="bash",
        result=Result("total 7\n$ ", 6),
    )  # fmt: skip
    found = events_of(ran("bash", "$ "), typed, manifest=None)
    assert [(one.kind, one.resource, one.line) for one in found] == [
        ("exec", "scripts/total.py", 5)
    ]


def test_a_variable_for_the_skills_folder_means_the_only_skill_known():
    text = f"Base directory for this skill: {BUNDLE}\n\n# Ledger\n"
    body = Message("main", "skill_body", text, 1, 0, skill="ledger", path=BUNDLE)
    for variable in ("$SKILL_DIR", "${CLAUDE_SKILL_DIR}", "${CLAUDE_PLUGIN_ROOT}/skills/ledger"):
        run = ran(f'python3 "{variable}/scripts/total.py" a.csv', "total 7\n")
        found = events_of(run, manifest=None, messages=(body,))
        assert [one.resource for one in found if one.kind == "exec"] == ["scripts/total.py"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"make -C {BUNDLE}/scripts all", ("exec", "scripts/Makefile")),
        (f"make -f {BUNDLE}/scripts/rules.mk", ("exec", "scripts/rules.mk")),
        (f"uv run --script {BUNDLE}/scripts/total.py a.csv", ("exec", "scripts/total.py")),
        (f"npx -y tsx {BUNDLE}/scripts/total.ts", ("exec", "scripts/total.ts")),
        (f"node -e \"require('{BUNDLE}/scripts/total.js')()\"", ("import", "scripts/total.js")),
        (f"cd {BUNDLE}/scripts && python3 -c \"import importlib; importlib.import_module('total')\"", ("import", "scripts/total.py")),
        (f"docker run --rm -v {BUNDLE}:/s box python /s/scripts/total.py", None),
        (f"docker cp {BUNDLE} box:/x && docker exec box cat /x/SKILL.md", None),
        (f"zip -r kit.zip {BUNDLE}", None),
    ],
)  # fmt: skip
def test_ways_to_run_what_a_bundle_brings(command, expected):
    found = [one[:2] for one in seen(command, "total 7\n")]
    assert found == ([expected] if expected else [])


def keys(keystrokes, screen=None, *, call_id, line):
    """One keystroke; the screen answers the last of those sent together."""
    return Call(
        call_id, "bash_command", "shell", line, arguments={"keystrokes": keystrokes}, command=keystrokes,
        result=Result(screen, line + 1) if screen else None,
    )  # fmt: skip


def on_screen(*steps):
    """(line, kind, resource) of a run on a terminal."""
    made = [
        Step("main", number, calls[0].line, calls=calls) for number, calls in enumerate(steps, 1)
    ]
    run = Trajectory(trajectory="t", files=("log.json",), steps=tuple(made), messages=(), format="terminus-2", cwd="/app")  # fmt: skip
    return [(one.line, one.kind, one.resource) for one in attribute(run, None).events]


def test_keystrokes_sent_together_share_one_screen():
    screen = f"New Terminal Output:\nroot@x:/app# cat {BUNDLE}/SKILL.md\n{SKILL}root@x:/app#"
    first = keys("cd /app\n", call_id="k1", line=1)
    second = keys(f"cat {BUNDLE}/SKILL.md\n", call_id="k2", line=2)
    third = keys("q", screen, call_id="k3", line=3)
    assert on_screen((first, second, third)) == [(2, "read", "SKILL.md")]


def test_what_a_terminal_still_shows_is_not_read_again():
    prompt = "root@x:/app# "
    screen = f"Current Terminal Screen:\n{prompt}cat {BUNDLE}/SKILL.md\n{SKILL}{prompt}"
    read = keys(f"cat {BUNDLE}/SKILL.md\n", screen, call_id="k1", line=1)
    wait = keys("", screen, call_id="k2", line=5)
    clear = keys("clear\n", f"Current Terminal Screen:\n{prompt}", call_id="k3", line=7)
    again = keys("x\n", f"Current Terminal Screen:\n{prompt}x\n{SKILL}{prompt}", call_id="k4", line=9)  # fmt: skip
    assert on_screen((read,), (wait,), (clear,), (again,)) == [
        (1, "read", "SKILL.md"),
        (9, "read", "SKILL.md"),
    ]


@pytest.mark.parametrize("name", ["Grep", "grep"])
def test_a_search_that_is_asked_for_names_lists(name):
    call = Call(
        "c1", name, "search", 2, path=BUNDLE, pattern="cents", result=Result(f"{BUNDLE}/SKILL.md", 3, True),
        arguments={"output_mode": "files_with_matches"},
    )  # fmt: skip
    found = [(one.kind, one.resource) for one in events_of(call, manifest=None)]
    assert found == [("list", ".")]
