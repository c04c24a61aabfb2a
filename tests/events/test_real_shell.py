"""Which lines real commands show, and which files they open, told from what they print."""

import re

import pytest

from skilljuror.base.trajectory import ToolCall, ToolResult
from skilljuror.events.attribute import attribute
from tests.support.attribution_runs import run_of
from tests.support.every import every
from tests.support.real_shell import attributed, forget, opened, run, said_lines, shown_lines

PLACES = [
    "V $HOME/.claude/skills/ledger/P",
    "V ~/.claude/skills/ledger/P",
    "V '@/P'",
    "cd @ && V P",
    "cd ~/.claude/skills && V ledger/P",
    'D=@; V "$D/P"',
    "pushd @ > /dev/null; V ./P; popd > /dev/null",
    "(cd @/references && V ../P)",
    "for f in P; do V @/$f; done",
    'bash -lc "V @/P"',
    "find @ -path '*P' | xargs V",
    "find @ -path '*P' -exec V {} \\;",
    "export SKILL=@\nV ${SKILL}/P",
    'printf "%s\\n" @/P | while read -r f; do V "$f"; done',
    "cat notes.md; V @/P; echo done",
    "V @/P 2>/dev/null || true",
    "cat @/P | V",
    "test -f @/P && V @/P | cat",
]
READERS = [
    "cat", "cat -n", "nl -ba", "head -n 8", "head -5", "tail -n 6", "tail -n +4", "sed -n '2,9p'",
    "sed -n 7p", "sed 3q", "sed -n '3,5p;8,9p'", "awk 'NR>=4 && NR<=7'", "awk 'NR<=6 {print}'",
    "grep -n token", "grep rule", "sort", "tac", "grep -v rule", "grep -n -A2 0005",
]  # fmt: skip
PATHS = ["SKILL.md", "references/format.md", "references/taxes.md", "scripts/total.py"]


def _filled(place: str, reader: str, path: str) -> str:
    return path.join(re.split(r"\bP\b", reader.join(re.split(r"\bV\b", place))))


GRID = [
    _filled(place, reader, PATHS[(number + row) % len(PATHS)])
    for row, place in enumerate(PLACES)
    for number, reader in enumerate(READERS)
    if (row + number) % 2 == 0 and not ("'" in reader and "bash -lc" in place)
]


@every("command", GRID[::3])
def test_readers_from_places(home, command):
    lines_are_told(home, command)


@pytest.mark.slow
@every("command", GRID)
def test_every_reader_from_every_place(home, command):
    lines_are_told(home, command)


def lines_are_told(home, command):
    """With the bundle's manifest exactly the lines shown; without it no line that was not shown."""
    command = command.replace("@", str(home / ".claude/skills/ledger"))
    output, status = run(home, command)
    shown = shown_lines(output)
    assert said_lines(attributed(home, command, output, status)) == shown
    if "nope" in command:
        return
    result = ToolResult(output, 3, status == 0)
    call = ToolCall("c1", "Bash", "shell", 2, command=command, result=result)
    found = attribute(run_of(call, cwd=str(home / "work"), home=str(home)), None).events
    placed = [one for one in found if one.lines or one.content_exposed == "full"]
    for path, numbers in said_lines(placed).items():
        assert numbers <= shown.get(path, set()), path


MIXED = [
    "cat @/SKILL.md; cat @/references/taxes.md",
    "cat @/SKILL.md @/references/taxes.md | head -n 45",
    "head -n 3 @/SKILL.md @/references/taxes.md",
    "cd @ && cat SKILL.md references/*.md",
    'cd @ && for f in references/*.md; do echo "== $f"; cat "$f"; done',
    "for f in SKILL.md references/taxes.md; do sed -n '3,6p' @/$f; done",
    "grep -rn 0007 @",
    "grep -rn 0007 ~/.claude/skills",
    "cd @ && grep -rn --include='*.md' 0003 .",
    "grep -n 0004 @/SKILL.md @/references/format.md",
    "cat @/references/{taxes,format}.md",
    "find @ -name '*.md' -exec cat {} +",
    "find @ -name '*.md' | sort | xargs head -n 2",
    "find @ -name '*.md' | while read -r f; do head -n 3 \"$f\"; done",
    "find @/references -name '*.md' -print0 | xargs -0 cat",
    "sed -n '1,5p' @/SKILL.md; sed -n '6,40p' @/SKILL.md",
    "sed -n '1,5p' @/SKILL.md && echo ---- && sed -n '1,4p' @/references/format.md",
    "cat @/references/$(ls @/references | head -1)",
    "cat $(find @ -name taxes.md)",
    "ls @ && cat @/SKILL.md | sed -n '5,8p'",
    "python3 -c \"print(open('@/references/taxes.md').read())\"",
    "python3 - <<'EOF'\nfrom pathlib import Path\nb = Path('@')\nprint((b / 'references' / 'taxes.md').read_text())\nEOF",
    "python3 - <<'EOF'\nimport os\nfor n in sorted(os.listdir('@/references')):\n    print(open(os.path.join('@/references', n)).read())\nEOF",
    "python3 - <<'EOF'\nimport glob\nfor n in sorted(glob.glob('@/references/*.md')):\n    print(n); print(open(n).read())\nEOF",
    "perl -ne 'print if 3..6' @/SKILL.md",
    "diff @/SKILL.md @/references/taxes.md",
    "cat @/SKILL.md > copy.md; head -n 6 copy.md",
    "tail -n +1 @/references/*.md",
    "more @/references/taxes.md | cat",
    "awk '/0009/' @/SKILL.md",
    "sed -n '/0006/,/0009/p' @/SKILL.md",
    "{ cat @/SKILL.md; cat @/references/taxes.md; } | head -n 50",
    "cat <<EOF\n$(cat @/references/taxes.md)\nEOF",
    "echo \"$(sed -n '2,3p' @/references/taxes.md)\"",
    'X=$(cat @/SKILL.md); echo "$X" | head -n 9',
    "tac @/references/taxes.md | tac",
    "cat @/scripts/total.py && python3 @/scripts/total.py",
    "(cat @/SKILL.md & wait)",
    "if [ -d @ ]; then cat @/SKILL.md; else echo none; fi",
    "case x in x) cat @/references/taxes.md;; esac",
    'f() { cat "$1"; }; f @/references/taxes.md',
    "cat @/nope.md; cat @/references/taxes.md",
    "cat @/references/taxes.md @/nope.md 2>/dev/null",
    "sed 's/token/TOKEN/; s/TOKEN/token/' @/references/taxes.md",
    "xargs cat < <(printf '%s\\n' @/references/taxes.md)",
    "cat @/SKILL.md 1>&2",
    "cat @/SKILL.md | tee copy.md | tail -n 2",
]


@every("command", MIXED)
def test_lines_shown_by_commands_as_agents_write_them(home, command):
    lines_are_told(home, command)


HOSTILE = [
    'cat @/references/taxes.md | python3 -c "import sys; print(sys.stdin.read())"',
    'cp -r @ copy1 && cat copy1/SKILL.md && head -3 copy1/references/taxes.md; rm -rf copy1',
    'ln -s @ lnk && cat lnk/SKILL.md; rm lnk',
    'ln -sfn @/references/taxes.md t.md; cat t.md; rm t.md',
    'export SKILL_DIR=@; cd "$SKILL_DIR" && cat SKILL.md',
    'cat "@/SKILL.md" | less',
    'less @/SKILL.md',
    "awk 'NR==3,NR==9' @/SKILL.md",
    'awk \'NR>=3&&NR<=9{print NR": "$0}\' @/SKILL.md',
    'awk \'{print NR": "$0}\' @/SKILL.md',
    "awk 'FNR==5' @/SKILL.md @/references/taxes.md",
    'cat @/references/taxes.md > both.md && cat both.md; rm both.md',
    'cat @/references/{format,taxes}.md | head -20',
    "find @ -type f -name '*.md' -exec cat {} \\;",
    "find @ -type f \\( -name '*.md' -o -name '*.txt' \\) -print -exec head -2 {} \\;",
    'find @ -type f | xargs head -n 3',
    'ls @/references | xargs -I{} cat @/references/{}',
    'ls -1 @/references/*.md | xargs -n1 head -2',
    'grep -rn "0003" @ --include=*.md',
    'grep -h "0003" @/SKILL.md @/references/taxes.md',
    'grep -c token @/SKILL.md',
    'grep -l token @/SKILL.md @/references/taxes.md',
    'grep -rl token @',
    'grep -n -B1 -A1 "0005" @/references/taxes.md',
    'grep -A3 0005 @/references/taxes.md',
    'grep token @/references/taxes.md | tail -2',
    'python3 -c "from pathlib import Path; print(Path(\'@/references/taxes.md\').read_text())"',
    "python3 - <<'EOF'\nfrom pathlib import Path\nfor p in sorted(Path('@').rglob('*.md')):\n    print('#', p); print(p.read_text())\nEOF",
    "python3 - <<'EOF'\np='@/references/taxes.md'\nlines=open(p).read().splitlines()\nfor i,l in enumerate(lines[2:6],3): print(i,l)\nEOF",
    "python3 - <<'EOF'\nwith open('@/SKILL.md') as f:\n    for line in f:\n        print(line, end='')\nEOF",
    "python3 - <<'EOF'\nimport re\nt=open('@/SKILL.md').read()\nprint(len(t))\nEOF",
    "python3 <<'EOF'\nimport sys; sys.path.insert(0, '@/scripts')\nimport total\nprint(total.total())\nEOF",
    "cat <<'EOF' > r.py\nprint(open('@/references/taxes.md').read())\nEOF\npython3 r.py; rm r.py",
    "cat @/SKILL.md | sed -n '5,8p'",
    'cat @/SKILL.md | head -n 12 | tail -n 3',
    "nl -ba @/SKILL.md | sed -n '5,9p'",
    "cat -n @/references/format.md | sed -n '100,200p'",
    'head -c 200 @/references/taxes.md; echo; tail -c 60 @/references/taxes.md',
    "sed -n '5,8p;20,22p' @/references/format.md",
    'sed -n -e 5,8p -e 20,22p @/references/format.md',
    "sed -e '1,4d' @/SKILL.md",
    "sed '/^---$/,/^---$/d' @/SKILL.md",
    "sed -n '10,$p' @/SKILL.md",
    "sed -n '$p' @/SKILL.md",
    "sed -n '2,+3p' @/SKILL.md",
    "sed -n '/0005/,$p' @/references/taxes.md",
    'tail -n +5 @/SKILL.md | head -n 4',
    'tail -5 @/SKILL.md @/references/taxes.md',
    'head -q -n 2 @/SKILL.md @/references/taxes.md',
    'cd @ && head -n 5 SKILL.md references/*.md scripts/*',
    'diff @/references/taxes.md @/SKILL.md | head -5',
    'cat @/nope.md || cat @/SKILL.md',
    'cat @/SKILL.md 2>&1 | tee log.txt | head -3; rm log.txt',
    'cat < @/references/taxes.md',
    'cat @/SKILL.md | wc -l',
    'wc -l @/SKILL.md && cat @/references/taxes.md',
    'set -e; cd @; pwd; ls -la; cat SKILL.md',
    'cd @ ; cat SKILL.md ; cd - >/dev/null ; cat notes.md',
    'cd /; cat $HOME/.claude/skills/ledger/references/taxes.md',
    'cd ~/.claude; cat skills/*/SKILL.md',
    'cat ~/.claude/skills/led*/references/t*.md',
    'F=$(find @ -name \'tax*\' | head -1); cat "$F"',
    'cat $(ls @/references/*.md | tail -1)',
    'cat "$(dirname @/references/taxes.md)/taxes.md"',
    'D=$(dirname @/SKILL.md); cat $D/references/taxes.md',
    'read -r X <<< "@/references/taxes.md"; cat $X',
    'eval cat @/references/taxes.md',
    'sh -c "cat @/references/taxes.md"',
    'timeout 5 cat @/references/taxes.md; nice cat @/SKILL.md | head -2',
    'env cat @/references/taxes.md',
    'cat @/references/taxes.md &\nwait',
    'cat <(head -3 @/references/taxes.md) <(tail -2 @/SKILL.md)',
    "printf '%s\n' @/references/taxes.md | xargs cat",
    'install -m 644 @/SKILL.md ./s.md && head -2 s.md; rm s.md',
    "printf 'Reading %s\n' @/SKILL.md",
    'ls @/SKILL.md',
    'cat notes.md # see @/SKILL.md',
    "cat <<'EOF'\nPlease read @/SKILL.md and references/taxes.md\nEOF",
    "cat <<'EOF' > plan.md\n- cat @/SKILL.md\nEOF\ncat plan.md; rm plan.md",
    'cat @/SKILL.md @/references/taxes.md | grep -n 0007',
    'cat @/SKILL.md | grep 0007 | wc -l',
    'sort -u @/references/taxes.md | head -3',
    'head -3 @/SKILL.md; python3 @/scripts/total.py; tail -2 @/references/taxes.md',
    'cat -s @/references/taxes.md | cat -n',
]  # fmt: skip


@every("command", HOSTILE)
def test_lines_shown_by_commands_that_hide_what_they_read(home, command):
    lines_are_told(home, command)


SYNTAX = {
    "text added to": "P=@/ref; P+=erences/taxes.md; cat $P",
    "substitution before a file": "diff <(sort @/references/taxes.md) @/SKILL.md",
    "substitution after a file": "diff @/SKILL.md <(head -n 3 @/references/taxes.md)",
    "two substitutions": "comm <(sort @/SKILL.md) <(sort @/references/taxes.md)",
    "substitution and file printed": "cat <(head -n 3 @/references/taxes.md) @/SKILL.md",
    "substitution for output": "cat @/references/taxes.md | tee >(wc -l > /dev/null) | head -n 3",
    "substitution into a loop": "while read -r f; do head -n 2 \"$f\"; done < <(find @ -name 'ta*.md')",
    "substitution that is searched": "grep 0003 <(cat @/references/taxes.md)",
    "substitution that is run": "bash <(cat @/scripts/helper.sh)",
    "substitution that is sourced": "source <(cat @/scripts/helper.sh)",
    "braces inside braces": "cat @/{SKILL,references/{taxes,format}}.md",
    "braces around nothing": "head -n 2 @/references/{,./}taxes.md",
    "braces of numbers": 'for i in {1..3}; do sed -n "${i}p" @/SKILL.md; done',
    "braces in a loop": "for f in @/references/{taxes,format}.md; do head -n 2 \"$f\"; done",
    "arithmetic": "n=3; if ((n<5)); then cat @/references/taxes.md; fi",
    "arithmetic in a word": 'n=2; sed -n "$((n+1)),5p" @/SKILL.md',
    "test of files": "[[ -f @/SKILL.md && -r @/references/taxes.md ]] && cat @/references/taxes.md",
    "test of a pattern": "[[ @/SKILL.md == *.md ]] && head -n 2 @/SKILL.md",
    "test of two files": "[ -f @/SKILL.md -a -f @/references/taxes.md ] && cat @/references/taxes.md",
    "case: patterns are no commands": "case @/SKILL.md in @/*.md|*/run.sh) head -n 2 @/SKILL.md;; esac",
    "here-document with a command": "cat <<EOF\n$(head -n 2 @/SKILL.md)\nEOF",
    "here-document, quoted": "cat <<'EOF'\n$(head -n 2 @/SKILL.md)\nEOF",
    "here-document with a variable": "D=@; python3 - <<EOF\nprint(open('$D/references/taxes.md').read())\nEOF",
    "here-document with a variable, quoted": "D=@; python3 - <<'EOF'\nprint(open('$D/references/taxes.md').read())\nEOF",
    "here-document of a shell": "bash <<EOF\ncat @/references/taxes.md\nEOF",
    "here-document and more on its line": "cat > x.py <<'EOF'; python3 x.py\nprint(open('@/references/taxes.md').read())\nEOF",
    "here-document, glued, and more": "cat > x.py <<EOF; python3 x.py\nprint(open('@/references/taxes.md').read())\nEOF",
    "here-document without tabs": "cat > x.sh <<-'EOF'\n\tcat @/references/taxes.md\n\tEOF\nbash x.sh",
    "here-document and a second command": "cat <<EOF && cat @/references/taxes.md\n$(head -n 2 @/SKILL.md)\nEOF",
    "here-document through a pipe": "cat <<EOF | xargs head -n 2\n@/references/taxes.md\nEOF",
    "here-document never closed": "bash <<EOF\ncat @/references/taxes.md\n",
    "here-document into a loop": "while IFS= read -r f; do head -n 2 @/$f; done <<EOF\nSKILL.md\nreferences/taxes.md\nEOF",
    "here-string": 'cat <<< "$(head -n 2 @/SKILL.md)"',
    "here-string of names": "xargs cat <<< @/references/taxes.md",
    "here-string into a loop": 'L="@/SKILL.md\n@/references/taxes.md"; while read -r f; do head -n 2 "$f"; done <<< "$L"',
    "input and a file": "cat @/SKILL.md | cat - @/references/taxes.md",
    "input of a group": "{ head -n 2; } < @/references/taxes.md",
    "group fed by a pipe": "cat @/SKILL.md | { head -n 2; }",
    "group into a group": "{ cat @/SKILL.md; cat @/references/taxes.md; } | { tail -n 2; }",
    "both streams into a pipe": "cat @/SKILL.md |& head -n 2",
    "counted loop": "for ((i=0;i<2;i++)); do head -n 2 @/references/taxes.md; done",
    "until": "until false; do cat @/references/taxes.md; break; done",
    "not": "! grep -q zzz @/SKILL.md && cat @/references/taxes.md",
    "timed": "time cat @/references/taxes.md",
    "background": "cat @/references/taxes.md & wait",
    "echo into a file": 'echo "$(cat @/SKILL.md)" > out.md; head -n 2 @/references/taxes.md',
    "default": 'cat @/references/${X:-"taxes"}.md',
    "variables beside each other": "D=@/references; N=format; cat $D/taxes.md; tail -n 2 $D/$N.md",
    "file into a variable": 'X=$(< @/references/taxes.md); echo "$X" | head -n 9',
    "folder of a sub-shell": "(cd @; cat SKILL.md); cat references/taxes.md 2>/dev/null; true",
    "command behind a backslash": "cat notes.md\n\\cat @/references/taxes.md",
}  # fmt: skip
"""Syntax that decides which file a command touches."""


@every("what, command", SYNTAX.items())
def test_lines_shown_and_files_opened_by_syntax(watched, what, command):
    command = command.replace("@", str(watched / ".claude/skills/ledger"))
    forget(watched)
    output, status = run(watched, command)
    files = opened(watched)
    events = attributed(watched, command, output, status)
    assert said_lines(events) == shown_lines(output)
    assert {event.resource for event in events} - {"."} == files


OPENED = [
    "python3 @/scripts/total.py",
    "cd @ && python3 scripts/total.py > /dev/null",
    "bash @/scripts/helper.sh; bash @/scripts/helper.sh",
    "@/scripts/helper.sh",
    "cd @/scripts && ./helper.sh && python3 total.py",
    ". @/scripts/helper.sh",
    "PYTHONPATH=@/scripts python3 -c 'import total'",
    "cd @ && python3 -m scripts.total",
    "python3 -c \"import sys; sys.path.insert(0, '@/scripts'); import total\"",
    "python3 -c \"import runpy; runpy.run_path('@/scripts/total.py')\"",
    "python3 -c \"import subprocess; subprocess.run(['bash', '@/scripts/helper.sh'])\"",
    "cat @/scripts/helper.sh | bash",
    "bash < @/scripts/helper.sh",
    "env A=1 timeout 20 bash @/scripts/helper.sh",
    "for i in 1 2; do python3 @/scripts/total.py; done; cat @/SKILL.md > /dev/null",
    "X=$(bash @/scripts/helper.sh); cat @/references/taxes.md | grep -c token",
    "cp @/references/taxes.md mine.md",
    "cp @/scripts/total.py t.py && python3 t.py",
    "cat > use.py <<'EOF'\nimport sys\nsys.path.append('@/scripts')\nimport total\nEOF\npython3 use.py",
    "python3 -m json.tool @/references/taxes.md",
    "grep -n token @/references/taxes.md | head -3 && bash @/scripts/helper.sh",
    "while read -r l; do :; done < @/references/taxes.md",
    "if grep -q token @/SKILL.md; then bash @/scripts/helper.sh; fi",
    "cat @/references/*.md | wc -l",
    "ls @/references; cat notes.md; true || cat nothing",
    "echo @/SKILL.md; ls ~/.claude/skills; cat notes.md",
    "cat <<'EOF' > doc.md\nsee @/SKILL.md and @/references/taxes.md\nEOF",
    "printf '%s' 'cat @/SKILL.md' > script.txt",
    "md5sum @/references/taxes.md",
    "wc -l @/SKILL.md",
    "bash -c 'cd @ && bash scripts/helper.sh' | tail -1",
    "python3 - @/references/taxes.md <<'EOF'\nimport sys\nprint(len(open(sys.argv[1]).read()))\nEOF",
    "sort @/references/taxes.md @/SKILL.md > /dev/null",
    "tar cf /dev/null notes.md 2>/dev/null; head -1 @/SKILL.md",
    "(cd @ && (cd references && cat taxes.md)) > out.txt; cat SKILL.md 2>/dev/null; true",
]


@every("command", OPENED)
def test_files_opened(watched, command):
    command = command.replace("@", str(watched / ".claude/skills/ledger"))
    forget(watched)
    output, status = run(watched, command)
    events = attributed(watched, command, output, status)
    assert {event.resource for event in events} - {"."} == opened(watched)
