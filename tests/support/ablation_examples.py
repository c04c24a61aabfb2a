"""For every rule that a sentence keeps: a small log of the behaviour that the sentence tells of."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from skilljuror.base.trajectory import (
    Message,
    MessageKind,
    ResourceEvent,
    SkillManifest,
    ToolCall,
    ToolResult,
)
from tests.support.attribution_runs import (
    BODY,
    BUNDLE,
    FORMAT,
    MANIFEST,
    PYTHON,
    REFERENCES,
    ROOT,
    SKILL,
    TAXES,
    events_of,
    file_tool,
    keystrokes_call,
    ran,
    ran_each,
)

TAXES_PATH = f"{REFERENCES}/taxes.md"
LISTING = f"ls {REFERENCES}", "format.md\ntaxes.md\n"
SCREEN = f"Current Terminal Screen:\n$ cat {BUNDLE}/SKILL.md\n{SKILL}$ "


class Example(NamedTuple):
    """A log."""

    calls: tuple[ToolCall, ...] = ()
    manifest: SkillManifest | None = None
    more: Mapping[str, object] = MappingProxyType({})

    def events(self) -> list[ResourceEvent]:
        """Its events."""
        return events_of(*self.calls, manifest=self.manifest, **self.more)


def shell(command: str, output: str = "", **more) -> Example:
    """One command in a log of its own."""
    return Example((ran(command, output, **more),))


def given(command: str, output: str = "") -> Example:
    """One command in a run whose bundle is known."""
    return Example((ran(command, output),), MANIFEST)


def after(*pairs: tuple[str, str], **more) -> Example:
    """Several commands in a log of their own."""
    return Example(tuple(ran_each(*pairs)), None, more)


def python(code: str, output: str = "") -> Example:
    """Inline code that may name a reference as @."""
    return shell(PYTHON.format(code.replace("@", TAXES_PATH)), output)


def message(kind: MessageKind, text: str, *calls: ToolCall, **more) -> Example:
    """A message at the beginning, and calls after it."""
    fields = {key: more.pop(key) for key in ("skill", "path", "call_id") if key in more}
    return Example(calls, more.pop("manifest", None), {"messages": (Message("main", kind, text, 1, 0, **fields),), **more})  # fmt: skip


BODY_MESSAGE = f"Base directory for this skill: {BUNDLE}\n\n{BODY}"
FOUND = f"{REFERENCES}/format.md:3:Column 2 holds the value of rule number 2.\n"

EXAMPLES: dict[str, Callable[[], Example]] = {
    "python: from read to print": lambda: python("print(len(open('@').read()))", "94\n"),
    "python: printed input": lambda: shell(f"cat {TAXES_PATH} | python3 -c 'import sys; print(sys.stdin.read()[:9])'", "# Taxes\n"),
    "python: libraries": lambda: shell(f"cd {BUNDLE}/scripts && python3 -c 'import pandas, total'"),
    "python: write_text": lambda: python("from pathlib import Path\nPath('@').write_text('x')"),
    "python: child processes": lambda: python(f"import subprocess, sys\nsubprocess.run([sys.executable, '{BUNDLE}/scripts/total.py'])"),
    "python: modules by path": lambda: python(f"spec_from_file_location('total', '{BUNDLE}/scripts/total.py')"),
    "python: names": lambda: python("p = '@'\nprint(open(p).read())", TAXES),
    "python: joined paths": lambda: python(f"print((Path('{BUNDLE}') / 'references' / 'taxes.md').read_text())", TAXES),
    "python: glued texts": lambda: python(f"S = '{BUNDLE}'\nprint(open(f'{{S}}/references/taxes.md').read())", TAXES),
    "globs: headings": lambda: shell(f'for f in {REFERENCES}/*.md; do echo "== $f"; cat $f; done', f"== {TAXES_PATH}\n{TAXES}"),
    "globs: front matter": lambda: shell(f"head -5 {ROOT}/*/SKILL.md", SKILL),
    "globs: listings": lambda: Example((file_tool("list", ToolResult("SKILL.md", 3, True), pattern=f"{BUNDLE}/**/*.md"),)),
    "names: listings": lambda: after(LISTING, (f"cat {REFERENCES}/*.md", FORMAT + TAXES)),
    "names: links": lambda: message("skill_body", BODY_MESSAGE, ran(f"cat {REFERENCES}/*", FORMAT), skill="ledger", path=BUNDLE, call_id="c0"),
    "copies: all": lambda: shell(f"cp -r {BUNDLE}/scripts . && python3 scripts/total.py", "total 7\n"),
    "paths: by their end": lambda: message("skill_body", BODY_MESSAGE, ran("python3 ${CLAUDE_PLUGIN_ROOT}/skills/ledger/scripts/total.py"), skill="ledger", path=BUNDLE),
    "paths: folder kept between calls": lambda: after((f"cd {BUNDLE}", ""), ("python3 scripts/total.py", "total 7\n")),
    "paths: venv and the like": lambda: shell(f"cd {BUNDLE} && source .venv/bin/activate && python scripts/total.py", "total 7\n"),
    "paths: folders listed by name": lambda: shell(f"ls {BUNDLE}/tables", "ports.md\n"),
    "calls: Windows paths": lambda: shell(r"type C:\Users\me\.codex\skills\ledger\SKILL.md", SKILL),
    "calls: what a tool's name tells": lambda: Example((ToolCall("c1", "mcp__files__edit_file", "other", 2, arguments={"path": TAXES_PATH}, result=ToolResult("done", 3, True)),)),
    "calls: searches for names": lambda: Example((file_tool("search", ToolResult(TAXES_PATH, 3, True), path=BUNDLE, pattern="tax"),)),
    "discovery: roots in prompts": lambda: message("prompt", "Skills are in /srv/skills, use them.", ran("cat /srv/skills/ledger/SKILL.md", SKILL), format="mini-swe-agent"),
    "content: trivial lines": lambda: given(f"awk '/total/' {BUNDLE}/scripts/total.py", 'x\n\nimport sys\ny\nz\nprint("total of the ledger", len(sys.argv))\n'),
    "segments: headings": lambda: shell(f"head -2 {BUNDLE}/SKILL.md {TAXES_PATH}", f"==> {BUNDLE}/SKILL.md <==\n---\nname: ledger\n\n==> {TAXES_PATH} <==\n{TAXES}"),
    "segments: after other output": lambda: shell(f"pwd && ls && sed -n 1,200p {BUNDLE}/SKILL.md", f"/srv/app\nnotes.md\n{SKILL}"),
    "errors: unknown programs": lambda: shell(f"bat {TAXES_PATH}; true", "bash: line 1: bat: command not found\n"),
    "errors: nothing but complaints": lambda: shell(f"head -x {TAXES_PATH}", "head: invalid option -- 'x'\nTry 'head --help' for more information.\n", exit_code=1),
    "errors: tracebacks": lambda: Example((ran(PYTHON.format(f"import nothing\nprint(open('{TAXES_PATH}').read())"), "Traceback (most recent call last):\n  File \"<stdin>\", line 1, in <module>\nModuleNotFoundError: No module named 'nothing'\n", exit_code=1),)),
    "reads: hidden complaints": lambda: shell(f"cat {TAXES_PATH} 2>/dev/null || true"),
    "reads: failures without a status": lambda: Example((ran(f"python3 {BUNDLE}/scripts/total.py", result=ToolResult("Traceback (most recent call last):\nKeyError: 1", 3)),)),
    "injected: texts of offered skills": lambda: message("system", f"Rules.\n\n{SKILL}\nBe kind.", manifest=MANIFEST),
    "injected: cut bodies": lambda: message("skill_body", f"{BODY_MESSAGE}\n[... skill content truncated for compaction]", skill="ledger", path=BUNDLE),
    "injected: refused skills": lambda: Example((ToolCall("c1", "Skill", "skill", 2, skill="legder", result=ToolResult("Unknown skill: legder", 3)),)),
    "search output: wide searches": lambda: shell(f"grep -rn rule {ROOT}", FOUND),
    "search output: headings": lambda: Example((ToolCall("c1", "grep_search", "search", 2, path=BUNDLE, pattern="x", result=ToolResult("File: references/format.md\nL3: Column 2 holds", 3, True)),)),
    "search output: lines around": lambda: shell(f"grep -rn -A1 'rule number 2.' {BUNDLE}", f"{FOUND}{REFERENCES}/format.md-4-Column 3 holds the value of rule number 3.\n"),
    "search output: one file": lambda: shell(f"grep -n cents {BUNDLE}/SKILL.md", "6:Every sale is written down once, in whole cents.\n"),
    "unclaimed content: all": lambda: given("make show-ledger", f"building\n{SKILL}done\n"),
    "unclaimed content: differences": lambda: Example((*ran_each((f"cat {BUNDLE}/SKILL.md", SKILL), ("tmux capture-pane -p", SKILL)),)),
    "unclaimed content: already on screen": lambda: Example((keystrokes_call(f"cat {BUNDLE}/SKILL.md\n", SCREEN, call_id="k1", line=1), keystrokes_call("", SCREEN, call_id="k2", line=5)), MANIFEST),
    "events: looks before reads": lambda: shell(f"wc -l {TAXES_PATH} && cat {TAXES_PATH}", f"3 {TAXES_PATH}\n{TAXES}"),
    "events: listings nobody sees": lambda: shell(f"for f in $(ls {BUNDLE}); do echo x; done", "x\n"),
    "events: unconfirmed guesses": lambda: given(f"for f in {REFERENCES}/*.md; do grep -q tax $f && cat $f; done", TAXES),
    "events: shown by a copy": lambda: given(f"cp {TAXES_PATH} notes.md; cat notes.md", TAXES),
    "interpreters: modules": lambda: shell(f"cd {BUNDLE} && python3 -m scripts.total"),
    "interpreters: arguments": lambda: shell(f"python3 fill.py {BUNDLE}/assets/form.json"),
    "interpreters: PYTHONPATH": lambda: shell(f"PYTHONPATH={BUNDLE}/scripts python3 -c 'import total'"),
    "interpreters: input passed on": lambda: shell(f"cat {TAXES_PATH} | python3 -c 'import sys; print(sys.stdin.read()[:9])'", "# Taxes\n"),
    "interpreters: code from input": lambda: shell(f"bash < {BUNDLE}/scripts/install.sh"),
    "lines: narrowed by pipes": lambda: shell(f"cat {REFERENCES}/format.md | head -3", "\n".join(FORMAT.split("\n")[:3])),
    "commands: git show": lambda: shell("git show HEAD:.claude/skills/ledger/SKILL.md", SKILL),
    "commands: cp and mv": lambda: shell(f"cp {BUNDLE}/assets/form.json ."),
    "commands: ln": lambda: shell(f"ln -s {BUNDLE}/scripts tools && python3 tools/total.py", "total 7\n"),
    "commands: rm": lambda: shell(f"rm {TAXES_PATH}"),
    "commands: tee": lambda: shell(f"tee {TAXES_PATH} <<'EOF'\nx\nEOF", "x\n"),
    "commands: pickers": lambda: shell(f"jq .fields {BUNDLE}/assets/form.json", '["date"]\n'),
    "commands: second tries": lambda: shell(f"jq . {BUNDLE}/assets/form.json || cat {BUNDLE}/assets/form.json", "{}\n"),
    "commands: other output": lambda: shell(f"date; cat {TAXES_PATH}", f"Mon\n{TAXES}"),
    "echo marks": lambda: shell(f"echo '== taxes'; cat {TAXES_PATH}", f"== taxes\n{TAXES}"),
    "wrappers: all": lambda: shell(f"bash -lc 'cat {TAXES_PATH}'", TAXES),
    "wrappers: bash -c and here-documents": lambda: shell(f"bash -lc 'cat {TAXES_PATH}'", TAXES),
    "wrappers: xargs": lambda: given(f"find {REFERENCES} -name 't*.md' | xargs cat", TAXES),
    "wrappers: find -exec": lambda: given(f"find {REFERENCES} -name 't*.md' -exec cat {{}} +", TAXES),
    "wrappers: sudo, timeout, env …": lambda: shell(f"timeout 60 python3 {BUNDLE}/scripts/total.py", "total 7\n"),
    "wrappers: uv run, npx …": lambda: shell(f"uv run {BUNDLE}/scripts/total.py", "total 7\n"),
    "produced paths: all": lambda: given(f"find {REFERENCES} -name 't*.md' | xargs cat", TAXES),
    "produced paths: $(…)": lambda: given(f"cat $(find {REFERENCES} -name 't*.md')", TAXES),
    "produced paths: find": lambda: given(f"find {REFERENCES} -name 't*.md' | xargs cat", TAXES),
    "shell: loops turn by turn": lambda: shell(f'for f in format taxes; do echo "== $f"; cat {REFERENCES}/$f.md; done', f"== format\n{FORMAT}== taxes\n{TAXES}"),
    "shell: braces": lambda: shell(f"cat {REFERENCES}/{{format,taxes}}.md", FORMAT + TAXES),
    "shell: exported variables": lambda: shell(f"export D={REFERENCES}; bash -c 'cat $D/taxes.md'", TAXES),
    "shell: read variables": lambda: given(f'find {REFERENCES} -name "t*.md" | while read -r f; do head -2 "$f"; done', "\n".join(TAXES.split("\n")[:2])),
    "shell: streams of groups": lambda: shell(f"{{ cat {REFERENCES}/format.md; cat {TAXES_PATH}; }} | head -20", "\n".join(FORMAT.split("\n")[:20])),
    "shell: text left open": lambda: shell(f"cat > x.sh <<'EOF'\ncat {TAXES_PATH}"),
}  # fmt: skip
