"""One command, the accesses it makes: with a known bundle."""

import pytest

from skilljuror.base.trajectory import ToolResult
from skilljuror.events.commands import patch_accesses
from skilljuror.events.evidence import screen_output
from tests.support.attribution_runs import (
    BUNDLE,
    FORMAT,
    PYTHON,
    REFERENCES,
    ROOT,
    SKILL,
    TAXES,
    events_of,
    file_tool,
    ran,
    touched,
)

READ_SKILL = [("read", "SKILL.md")]
EXEC = [("exec", "scripts/total.py")]


@pytest.mark.parametrize(
    "command",
    [
        f"cat {BUNDLE}/SKILL.md",
        "cat ~/.claude/skills/ledger/SKILL.md",
        'cat "${HOME}/.claude/skills/ledger/SKILL.md"',
        f"cd {ROOT}; cd ledger; cat ./SKILL.md",
        f"cd {BUNDLE}/references && cat ../SKILL.md",
        f"bash -lc 'cat '\"'\"'{BUNDLE}/SKILL.md'\"'\"''",
        f"sudo timeout 10 cat {BUNDLE}/SKILL.md",
        f"sed -n '1,200p' {BUNDLE}/SKILL.md",
        f"head -100 {BUNDLE}/SKILL.md",
        f"cat -n {BUNDLE}/SKILL.md | sed -n '1,220p'",
        f"awk 'NR<=200' {BUNDLE}/SKILL.md",
        f"cat < {BUNDLE}/SKILL.md",
        f"find {BUNDLE} -name 'SKILL.md' | xargs -I{{}} cat {{}}",
        f"cat {ROOT}/*/SKILL.md",
        f"cat {BUNDLE}/SKILL.* 2>/dev/null || true",
        f"env LANG=C cat {BUNDLE}/SKILL.md",
        f'eval "cat {BUNDLE}/SKILL.md"',
        f"git show HEAD:{BUNDLE.lstrip('/')}/SKILL.md; cat {BUNDLE}/SKILL.md",
        f"ssh host true; cat {BUNDLE}/skill.md",
        "cat /srv/app/../root/.claude/skills/ledger/./SKILL.md",
        "cat .claude/skills/ledger/SKILL.md",
    ],
)
def test_ways_to_read_a_whole_file(command):
    found = [one for one in events_of(ran(command, SKILL)) if one.kind == "read"][-1:]
    assert [(one.resource, one.content_exposed, one.witness) for one in found] == [
        ("SKILL.md", "full", "both")
    ]
    assert found[0].lines == ((1, 10),)


@pytest.mark.parametrize(
    "command",
    [
        f"python3 {BUNDLE}/scripts/total.py sales.csv",
        f"{BUNDLE}/scripts/total.py sales.csv",
        f"cd {BUNDLE} && python scripts/total.py 2>&1 | tail -5",
        f"uv run --with pandas {BUNDLE}/scripts/total.py",
        f"timeout 60 python3 -u {BUNDLE}/scripts/total.py",
        f"A=1 python3 {BUNDLE}/scripts/total.py; B=2 python3 {BUNDLE}/scripts/total.py",
        f"X=$(python3 {BUNDLE}/scripts/total.py); echo $X",
        f"chmod +x {BUNDLE}/scripts/total.py && {BUNDLE}/scripts/total.py",
        f"nohup python3 {BUNDLE}/scripts/total.py &",
    ],
)
def test_ways_to_run_a_script_are_one_event(command):
    assert touched(command, "total 7") == EXEC


@pytest.mark.parametrize(
    "command",
    [
        f"python3 -c \"import sys; sys.path.insert(0, '{BUNDLE}/scripts'); import total\"",
        f"python3 -c \"import sys; sys.path.append('{BUNDLE}'); from scripts.total import main\"",
        f"python3 - <<'EOF'\nimport sys\nsys.path.append('{BUNDLE}/scripts')\nfrom total import x\nEOF",
        f"cd {BUNDLE}/scripts && python3 -c 'import total, json'",
        f"cat > a.py <<'EOF'\nimport sys\nsys.path.append('{BUNDLE}/scripts')\nimport total\nEOF\npython3 a.py",
        f"cp {BUNDLE}/scripts/total.py . && python3 total.py",
        f"cp {BUNDLE}/scripts/total.py t.py && ./t.py",
        f"cp -r {BUNDLE}/scripts tools && python3 tools/total.py x.csv",
        f"cp -r {BUNDLE} /tmp/mine && cat /tmp/mine/SKILL.md && python3 /tmp/mine/scripts/total.py",
        f"cat {BUNDLE}/scripts/total.py > mine.py; python3 mine.py",
    ],
)
def test_ways_to_use_code_without_running_it(command):
    assert ("import", "scripts/total.py") in touched(command)
    assert ("exec", "scripts/total.py") not in touched(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat /srv/app/SKILL.md",
        "cat references/format.md",
        "ls -la ~",
        f"ls {ROOT}",
        "find / -name SKILL.md",
        f"git add {BUNDLE}/SKILL.md && git commit -m 'edit {BUNDLE}/SKILL.md'",
        f"git diff -- {BUNDLE}/SKILL.md",
        f"echo 'see {BUNDLE}/SKILL.md'",
        f"echo {BUNDLE}/SKILL.md",
        f"cat > notes.md <<'EOF'\nRead {BUNDLE}/SKILL.md first\nEOF",
        f"# cat {BUNDLE}/SKILL.md",
        f"gh pr create --body 'uses {BUNDLE}/references/format.md'",
        f"mkdir -p {BUNDLE}/references",
        f"chmod +x {BUNDLE}/scripts/total.py",
        "python3 -c 'import docx, total'",
        "curl https://example.org/skills/ledger/references/format.md",
        "cat .agents/format.md",
        "python3 scripts/total.py",
    ],
)
def test_what_is_no_event(command):
    assert touched(command, "ok\n") == []


@pytest.mark.parametrize(
    "command",
    [
        f"cp -r {BUNDLE} . && cat notes.md README.md",
        f"cp -r {BUNDLE} /tmp && cat /tmp/references.md",
        f"cp {BUNDLE}/references/taxes.md . && cat other.md",
        f"cp -r {BUNDLE} /tmp/mine && cat /tmp/mine/unheard-of.txt",
        "mkdir -p skills/ledger && cp notes.md skills/ledger/SKILL.md && cat skills/ledger/SKILL.md",
    ],
)
def test_what_lies_beside_a_copy_is_none(command):
    found = events_of(ran(command, TAXES), manifest=None)
    assert {one.content_exposed for one in found} <= {"none"}


@pytest.mark.parametrize(
    ("command", "output", "lines", "exposed"),
    [
        (f"sed -n '5,6p' {BUNDLE}/SKILL.md", "\n".join(SKILL.split("\n")[4:6]), ((5, 6),), "partial"),
        (f"head -5 {BUNDLE}/SKILL.md | tail -2", "\n".join(SKILL.split("\n")[3:5]), ((4, 5),), "partial"),
        (f"tail -n 2 {BUNDLE}/SKILL.md", "\n".join(SKILL.split("\n")[8:10]), ((9, 10),), "partial"),
        (f"cat {BUNDLE}/SKILL.md | head -n 7", "\n".join(SKILL.split("\n")[:7]), ((1, 7),), "partial"),
        (f"awk 'NR>=3 && NR<=9' {BUNDLE}/references/format.md", "\n".join(FORMAT.split("\n")[2:9]), ((3, 9),), "partial"),
        (f"sed -n '2,4p;8,9p' {BUNDLE}/references/format.md", "\n".join(FORMAT.split("\n")[1:4] + FORMAT.split("\n")[7:9]), ((2, 4), (8, 9)), "partial"),
    ],
)  # fmt: skip
def test_real_lines_of_a_part(command, output, lines, exposed):
    (event,) = events_of(ran(command, output))
    assert (event.content_exposed, event.lines) == (exposed, lines)


def test_a_script_that_prints_a_file_is_a_read_by_python():
    code = f"print(open('{BUNDLE}/references/taxes.md').read())"
    (event,) = events_of(ran(f'python3 -c "{code}"', TAXES))
    assert (event.kind, event.via, event.content_exposed) == ("read", "python", "full")


@pytest.mark.parametrize(
    "command", [f"cat {BUNDLE}/SKILL.md > copy.md", f"X=$(cat {BUNDLE}/SKILL.md)"]
)
def test_a_read_whose_text_goes_elsewhere_exposes_nothing(command):
    (event,) = events_of(ran(command))
    assert (event.kind, event.content_exposed, event.ok) == ("read", "none", True)


@pytest.mark.parametrize(
    "command",
    [
        f"ls {BUNDLE}",
        f"ls -R {BUNDLE}/references",
        f"tree {BUNDLE}",
        f"find {BUNDLE} -type f",
        f"cd {BUNDLE} && ls",
    ],
)
def test_a_listing_aimed_at_one_bundle(command):
    (event,) = events_of(ran(command, "SKILL.md\nreferences\n"))
    assert (event.kind, event.resource, event.content_exposed) == ("list", ".", "none")


@pytest.mark.parametrize(
    ("command", "kind", "resource"),
    [
        (f"sed -i 's/a/b/' {BUNDLE}/SKILL.md", "edit", "SKILL.md"),
        (f"echo more >> {BUNDLE}/references/taxes.md", "edit", "references/taxes.md"),
        (f"cat > {BUNDLE}/references/new.md <<'EOF'\nx\nEOF", "write", "references/new.md"),
        (f"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: {BUNDLE}/SKILL.md\n@@\n-a\n+b\n*** End Patch\nEOF", "edit", "SKILL.md"),
    ],
)  # fmt: skip
def test_authoring_is_no_use(command, kind, resource):
    (event,) = events_of(ran(command))
    assert (event.kind, event.resource, event.counts) == (kind, resource, False)


@pytest.mark.parametrize(
    ("call", "event"),
    [
        (ran(PYTHON.format(f"open('{REFERENCES}/taxes.md', 'a').write('x')")), ("edit", "references/taxes.md", "none")),
        (ran(PYTHON.format(f"open('{REFERENCES}/taxes.md', 'w').write('x')")), ("write", "references/taxes.md", "none")),
        (ran(PYTHON.format(f"from pathlib import Path\nPath('{REFERENCES}/taxes.md').write_text('x')")), ("write", "references/taxes.md", "none")),
        (ran(PYTHON.format(f"import json\njson.load(open('{REFERENCES}/taxes.md'))")), ("read", "references/taxes.md", "none")),
        (ran(f"grep -rn tax {BUNDLE}", f"{BUNDLE}/SKILL.md:1:tax"), ("search", "SKILL.md", "partial")),
        (ran(f"grep -l tax {BUNDLE}", f"{BUNDLE}/SKILL.md"), ("list", ".", "none")),
        (file_tool("search", ToolResult("SKILL.md", 3, True), path=BUNDLE, pattern="tax"), ("list", ".", "none")),
        (file_tool("list", ToolResult("SKILL.md", 3, True), path=BUNDLE, pattern="*.md"), ("list", ".", "none")),
        (file_tool("write", ToolResult("ok", 3, True), path=f"{BUNDLE}/SKILL.md", written="x"), ("write", "SKILL.md", "none")),
        (file_tool("read", ToolResult("", 3, True), path=f"{BUNDLE}/SKILL.md"), ("read", "SKILL.md", "full")),
        (file_tool("read", ToolResult("", 3, False, unchanged=True), path=f"{BUNDLE}/SKILL.md"), ("read", "SKILL.md", "none")),
        (file_tool("read", ToolResult("3\tx", 3, True, first_line=3), path=f"{BUNDLE}/SKILL.md", start=3), ("read", "SKILL.md", "partial")),
    ],
)  # fmt: skip
def test_kinds_of_events(call, event):
    assert [(one.kind, one.resource, one.content_exposed) for one in events_of(call)] == [event]


@pytest.mark.parametrize(
    ("command", "output"),
    [(f"grep -rn tax {BUNDLE} > out.txt", ""), (f"ls {ROOT}", "ledger\nother")],
)
def test_what_shows_nothing_of_one_bundle_is_none(command, output):
    assert events_of(ran(command, output)) == []


def test_files_of_a_patch_in_order():
    patch = "*** Begin Patch\n*** Update File: a.md\n@@\n-x\n+y\n*** Move to: b.md\n*** Add File: c.py\n+one\n+two\n*** Delete File: d\n*** End Patch"
    assert [(one.path, one.kind, one.written) for one in patch_accesses(patch, "/w")] == [
        ("/w/a.md", "edit", None),
        ("/w/b.md", "write", ""),
        ("/w/c.py", "write", "one\ntwo"),
        ("/w/d", "edit", None),
    ]
    assert patch_accesses("*** Begin Patch\n@@\n-a\n+b\n*** End Patch", "/w") == []


def test_a_screen_is_cut_to_what_the_command_printed():
    text = "New Terminal Output:\nroot@vm:/a# cat x\none\ntwo\nroot@vm:/a# ls\nx\n\n\n"
    assert screen_output(text, "cat x\n") == "one\ntwo"
    assert screen_output("New Terminal Output:\none\n\n", "cat x") == "one"
