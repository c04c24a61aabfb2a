"""Commands that fail, choose among files, hand paths on or take them from variables: really run."""

from itertools import product

from skilljuror.base.trajectory import ToolCall, ToolResult
from skilljuror.events.attribute import attribute
from tests.support.attribution_runs import BUNDLE, events_of, ran, run_of
from tests.support.every import every
from tests.support.real_shell import attributed, forget, opened, run, said_lines, shown_lines

FAILED = [
    "no-such-pager @/references/taxes.md",
    "no-such-pager @/references/taxes.md; cat notes.md",
    "cd /nonexistent && cat @/SKILL.md",
    "no-such-program && cat @/SKILL.md",
    "source no-such.sh && cat @/SKILL.md",
    "mkdir /proc/x && cat @/SKILL.md",
    "cat @/SKILL.md --no-such-option",
    "head -x @/SKILL.md",
    "cat \"@/SKILL.md",
    "cat @/SKILL.md)",
    "cd @/nope && cat SKILL.md",
    "python3 -c 'print(open(\"@/SKILL.md\").read()'",
    "python3 -c 'import no_such_module; print(open(\"@/SKILL.md\").read())'",
    "python99 -c 'print(open(\"@/SKILL.md\").read())'",
    "no-such-grep -n 0003 @/SKILL.md",
]  # fmt: skip


@every("command, known", product(FAILED, [True, False]))
def test_a_command_that_failed_outright_shows_nothing(home, command, known):
    command = command.replace("@", str(home / ".claude/skills/ledger"))
    output, status = run(home, command)
    events = attributed(home, command, output, status)
    if not known:
        result = ToolResult(output, 3, status == 0, exit_code=status)
        call = ToolCall("c1", "Bash", "shell", 2, command=command, result=result)
        trajectory = run_of(call, cwd=str(home / "work"), home=str(home))
        events = attribute(trajectory, None).events
    assert {event.content_exposed for event in events} <= {"none"}
    assert not [event for event in events if event.ok]


CHOSEN = [
    "ls @/references/*.md | head -1 | xargs cat",
    "ls @/references | tail -1 | xargs -I{} cat @/references/{}",
    "ls @/references/*.md | grep tax | xargs cat",
    "find @ -name '*.md' | grep -v format | xargs cat",
    "find @ -name '*.md' | head -1 | while read f; do cat $f; done",
    "find @ -name '*.md' | sort | tail -n 1 | xargs -I{} head -3 {}",
    "find @ -maxdepth 1 -name '*.md' -exec cat {} +",
    "find @ -maxdepth 2 -name 't*.md' -exec cat {} +",
    "find @ -name '*.md' -newer @/SKILL.md -exec cat {} \\;",
    "find @ -size +1M -exec cat {} +; echo none",
    "find @ -iname 'skill.md' -exec head -3 {} \\;",
    "find @ -type f -not -name '*.py' -name '*.md' | xargs head -2",
    "find @ -name SKILL.md -o -name taxes.md | xargs cat",
    "find @ . -name taxes.md | xargs cat",
    "find @ -path '*references*' -name 't*' -exec cat {} \\;",
    "for f in @/references/*.md; do [ $f = @/references/taxes.md ] && cat $f; done",
    "for f in @/references/*.md; do case $f in *taxes*) cat $f;; esac; done",
    "grep -rl token @ | xargs head -2",
    'grep -rl token @ | while read f; do echo "## $f"; head -2 "$f"; done',
    "grep -l 0100 @/references/*.md | xargs tail -2",
    'echo "@/SKILL.md @/references/taxes.md" | xargs head -2',
    "printf '%s\\0' @/SKILL.md @/references/taxes.md | xargs -0 head -2",
    "ls @/SKILL.md @/references/taxes.md | xargs head -2",
    "cat <<'EOF' | xargs head -2\n@/references/taxes.md\nEOF",
    "find @ -name '*.md' -exec sh -c 'for f; do head -2 \"$f\"; done' _ {} +",
    "head -n -30 @/SKILL.md",
    "head -c 90 @/references/taxes.md | wc -l",
    "awk 'NR>3{exit} {print}' @/SKILL.md",
    "awk 'NR>3{exit} 1' @/SKILL.md",
    "awk 'NR==5{exit} NR>=3' @/SKILL.md",
    "awk '{print} NR==4{exit}' @/SKILL.md",
    "tail -n +100 @/references/format.md | grep -n 0110",
    "sed -n '10,60p' @/references/format.md | grep -n 002",
    "cat @/references/taxes.md | grep -c .",
    "cat @/references/taxes.md | grep -q token && echo yes",
    "python3 -c \"print(open('@/references/taxes.md').read())\" | head -3",
    "python3 - <<'EOF' | sed -n 2,3p\nprint(open('@/references/taxes.md').read())\nEOF",
    "python3 -c \"print(open('@/references/taxes.md').read())\" | grep 0004",
    "cat > w.py <<'EOF'\nprint(open('@/references/taxes.md').read())\nEOF\npython3 w.py | head -2; rm w.py",
    "head -5 @/references/taxes.md | tee part.md > /dev/null; tail -2 part.md; rm part.md",
]  # fmt: skip
"""Commands that choose among files, or lines of them, by what nobody can tell from the text."""


@every("command", CHOSEN)
def test_lines_shown_by_commands_that_choose(home, command):
    command = command.replace("@", str(home / ".claude/skills/ledger"))
    output, status = run(home, command)
    assert said_lines(attributed(home, command, output, status)) == shown_lines(output)
    result = ToolResult(output, 3, status == 0, exit_code=status)
    call = ToolCall("c1", "Bash", "shell", 2, command=command, result=result)
    found = attribute(run_of(call, cwd=str(home / "work"), home=str(home)), None).events
    placed = [one for one in found if one.lines or one.content_exposed == "full"]
    for path, numbers in said_lines(placed).items():
        assert numbers <= shown_lines(output).get(path, set()), path


HANDED_ON = [
    "ls @/references/*.md | head -1 | xargs cat",
    "find @ -maxdepth 1 -name '*.md' -exec cat {} +",
    "export D=@; bash -c 'cat $D/references/taxes.md'",
    "export D=@; bash -c 'python3 -c \"import os; print(open(os.environ[\\\"D\\\"]+\\\"/SKILL.md\\\").read())\"'",
    'echo "cat @/references/taxes.md" | bash',
    "printf 'cat %s\\n' @/references/taxes.md | sh",
    "cat <<'EOF' | bash\ncat @/references/taxes.md\nEOF",
    "echo 'cat @/references/taxes.md' > r.sh; sh r.sh; rm r.sh",
    "SK=@ python3 -c \"import os; print(open(os.environ['SK']+'/SKILL.md').read())\"",
    "export SK=@; python3 -c \"import os; print(open(os.environ.get('SK')+'/SKILL.md').read())\"",
    "python3 -c \"import os; print(open(os.getenv('NO', '@')+'/SKILL.md').read())\"",
    "python3 - <<'EOF'\nimport os\nfor f in ['taxes.md', 'format.md']:\n    p = os.path.join('@/references', f)\n    print(open(p).read())\nEOF",
    "python3 - <<'EOF'\nfiles = ['SKILL.md', 'references/taxes.md']\nfor f in files:\n    print(open('@/' + f).read())\nEOF",
    "echo @/SKILL.md; : cat @/SKILL.md",
    "rm -rf @/scripts/__pycache__",
]  # fmt: skip


@every("command", HANDED_ON)
def test_files_opened_by_what_is_handed_on(watched, command):
    command = command.replace("@", str(watched / ".claude/skills/ledger"))
    forget(watched)
    output, status = run(watched, command)
    events = attributed(watched, command, output, status)
    assert {event.resource for event in events} - {"."} == opened(watched)


def test_a_size_taken_from_standard_input_is_no_read():
    assert [one.kind for one in events_of(ran(f"wc -l < {BUNDLE}/SKILL.md", "10\n"))] == ["list"]
