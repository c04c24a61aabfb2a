"""How much of a file Python code prints of what it reads."""

import pytest

from tests.support.attribution_runs import (
    BUNDLE,
    PYTHON,
    REFERENCES,
    TAXES,
    events_of,
    observed,
    ran,
)


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
    (found,) = observed(command, TAXES)
    assert found[:3] == ("read", "references/taxes.md", exposed)


def test_a_number_printed_by_python_is_not_taken_for_the_file():
    counted = ran(PYTHON.format(f"print(len(open('{REFERENCES}/taxes.md').read()))"), "94\n")
    shown = ran(f"cat {REFERENCES}/taxes.md", TAXES, call_id="c2", line=9)
    first, second = events_of(counted, shown, manifest=None)
    assert (first.content_exposed, first.via) == ("none", "python")
    assert (second.content_exposed, second.lines) == ("full", ((1, 3),))


def test_a_heading_that_code_prints_is_no_line_of_the_file():
    code = f"p = '{BUNDLE}/references/taxes.md'\nprint('==', p)\nprint(open(p).read())"
    call = ran(f"python3 - <<'EOF'\n{code}\nEOF", f"== taxes\n{TAXES}\n")
    (event,) = events_of(call, manifest=None)
    assert (event.content_exposed, event.lines) == ("full", None)
