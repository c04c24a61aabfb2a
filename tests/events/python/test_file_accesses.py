"""What Python code opens, imports, runs and writes."""

import pytest

from skilljuror.events.python.file_accesses import python_accesses
from tests.support.attribution_runs import (
    BUNDLE,
    PYTHON,
    REFERENCES,
    TAXES,
    observed,
)
from tests.support.generated_texts import soon


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("open('a/b').read()", [("read", "/w/a/b")]),
        ("from pathlib import Path\nPath('/a/b').read_text()", [("read", "/a/b")]),
        ("import os\nb = os.path.join('/a', 'b')\nopen(b)", [("read", "/a/b")]),
        ("p = Path('/a') / 'b'\nwith p.open() as f: pass", [("read", "/a/b")]),
        ("open('/a/b', 'w').write('x')", [("write", "/a/b")]),
        ("open(f'{x}/b')", []),
        ("import sys\nsys.path.append('/s')\nimport json, numpy\nimport mine", [("import", "/s/mine.py"), ("import", "/w/mine.py")]),
        ("import subprocess\nsubprocess.run(['python3', '/s/x.py'])", [("exec", "/s/x.py")]),
        ("open('/a/b')\nfrom mine import (", []),
        ("from pathlib import Path\np = Path('/a/b')\nwith p.open('w') as f: pass", [("write", "/a/b")]),
        ("open('/a/b', mode='a')", [("edit", "/a/b")]),
        ("words.append('/s')\nimport mine", [("import", "/w/mine.py")]),
    ],
)  # fmt: skip
def test_what_python_code_touches(code, expected):
    found = [(one.kind, one.path) for one in python_accesses(code, "/w", "/h")]
    assert [one for one in found if one in expected] == expected
    assert len(found) == len(expected)


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
    assert [one[:3] for one in observed(PYTHON.format(code), TAXES)] == [expected]


@pytest.mark.parametrize(
    "code",
    [
        "p = '@'\ns = open(p).read()\nopen(p, 'w').write(s.replace('a', 'b'))",
        "from pathlib import Path\np = Path('@')\np.write_text(p.read_text().replace('a', 'b'))",
    ],
)
def test_python_that_writes_what_it_has_read_changes_the_file(code):
    found = observed(PYTHON.format(code.replace("@", f"{BUNDLE}/SKILL.md")), "")
    assert {one[:3] for one in found} == {
        ("read", "SKILL.md", "none"),
        ("edit", "SKILL.md", "none"),
    }


@pytest.mark.parametrize(
    ("code", "exposed"),
    [
        ("import sys; print(sys.stdin.read()[:80])", "partial"),
        ("import sys, json; print(json.load(sys.stdin)['x'])", "partial"),
        ("import sys\nfor line in sys.stdin: print(line)", "partial"),
        ("import sys; print(len(sys.stdin.read()))", "none"),
        ("import sys; sys.stdin.read()", "none"),
    ],
)
def test_python_fed_by_a_pipe_shows_what_it_prints(code, exposed):
    command = f'cat {REFERENCES}/taxes.md | python3 -c "{code}"'
    (found,) = observed(command, "# Taxes\n")
    assert found[:3] == ("read", "references/taxes.md", exposed)


def test_folders_and_modules_without_number_are_followed_in_part():
    code = "".join(f'sys.path.append("/q{i}")\nimport zz{i}\n' for i in range(3000))
    found = soon(lambda text: python_accesses(text, "/s", "/h"), code)
    assert {one.path.split("/")[1] for one in found} == {f"q{i}" for i in range(2968, 3000)}
