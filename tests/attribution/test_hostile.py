"""Shapes that real agents write and that fool a search for paths: with a bundle, and without one.

Without a manifest nothing is known but what the log shows, so the outputs are what the commands
print; the expectations are those of the events (kind, resource, exposure).
"""

import pytest

from tests.support.attribution_runs import (
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
        ("for l in open('@'):\n    if 'tax' in l:\n        print(l)", "partial"),
        ("t = open('@').read()\nprint(t[:3000])", "partial"),
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


@pytest.mark.parametrize(
    ("call", "expected"),
    [
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


@pytest.mark.parametrize(
    "code",
    [
        "p = '@'\ns = open(p).read()\nopen(p, 'w').write(s.replace('a', 'b'))",
        "from pathlib import Path\np = Path('@')\np.write_text(p.read_text().replace('a', 'b'))",
    ],
)
def test_python_that_writes_what_it_has_read_changes_the_file(code):
    found = seen(PYTHON.format(code.replace("@", f"{BUNDLE}/SKILL.md")), "")
    assert {one[:3] for one in found} == {
        ("read", "SKILL.md", "none"),
        ("edit", "SKILL.md", "none"),
    }


def test_a_script_that_is_written_and_run_shows_what_it_prints():
    script = f"cat > run.sh <<'EOF'\ncat {REFERENCES}/taxes.md\npython3 {BUNDLE}/scripts/total.py\nEOF\nbash run.sh"
    assert [one[:3] for one in seen(script, f"{TAXES}total 7\n")] == [
        ("read", "references/taxes.md", "full"),
        ("exec", "scripts/total.py", "none"),
    ]
    hidden = seen(script + " > log.txt", "")
    assert hidden[0][:3] == ("read", "references/taxes.md", "none")


def test_headings_of_head_name_files_as_the_command_does():
    output = f"==> references/taxes.md <==\n{TAXES}\n==> scripts/total.py <==\nimport sys\n"
    listed = ran(f"find {BUNDLE} -type f", f"{REFERENCES}/taxes.md\n{REFERENCES}/old.md\n")
    shown = ran(
        f"cd {BUNDLE} && head -50 references/*.md scripts/*.py", output, call_id="c2", line=9
    )
    found = [(one.resource, one.lines) for one in events_of(listed, shown, manifest=None)]
    assert found == [
        (".", None),
        ("references/taxes.md", ((1, 3),)),
        ("scripts/total.py", ((1, 1),)),
    ]
