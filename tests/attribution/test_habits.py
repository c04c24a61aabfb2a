"""Habits of agents that name no file outright: listings, wrappers, loops, links, fallbacks."""

import pytest

from skilljuror.models.trajectory import OfferedSkill
from tests.attribution.test_hostile import REFERENCES, seen
from tests.support.attribution_runs import BUNDLE, FORMAT, ROOT, SKILL, TAXES, events_of, ran

TIDES = "---\nname: tides\ndescription: Predict tides.\n---\n# Tides\nLook up the port first.\n"
READ_TAXES = ("read", "references/taxes.md", "full")
EXEC = ("exec", "scripts/total.py", "none")
IMPORT = ("import", "scripts/total.py", "none")


def short(command, output="", **more):
    """(kind, resource, exposure) of one command."""
    return [one[:3] for one in seen(command, output, **more)]


def both(command, output):
    """(skill, resource, exposure, lines) of a command over two skills."""
    return [
        (one.skill, one.resource, one.content_exposed, one.lines)
        for one in events_of(ran(command, output), manifest=None)
    ]


def test_headings_tell_the_files_of_two_skills_apart():
    front, tides = SKILL.split("\n")[:4], TIDES.split("\n")[:4]
    output = "\n".join([
        f"==> {ROOT}/ledger/SKILL.md <==", *front, "", f"==> {ROOT}/tides/SKILL.md <==", *tides,
    ])  # fmt: skip
    assert both(f"head -n 4 {ROOT}/*/SKILL.md", output) == [
        ("ledger", "SKILL.md", "partial", ((1, 4),)),
        ("tides", "SKILL.md", "partial", ((1, 4),)),
    ]


def test_a_heading_of_a_file_elsewhere_is_nobody_s():
    output = (
        f"==> {BUNDLE}/SKILL.md <==\n---\nname: ledger\n\n==> notes/SKILL.md <==\n# Notes\nx\ny\n"
    )
    command = f"head -n 2 {BUNDLE}/SKILL.md /srv/notes/SKILL.md"
    assert seen(command, output.replace("notes/", "/srv/notes/")) == [
        ("read", "SKILL.md", "partial", ((1, 2),))
    ]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"mise exec -- python3 {BUNDLE}/scripts/total.py", EXEC),
        (f"mise x node@20 -- node {BUNDLE}/scripts/total.js", ("exec", "scripts/total.js", "none")),
        (f"op run --env-file=.env -- python3 {BUNDLE}/scripts/total.py", EXEC),
        (f"flock /tmp/lock python3 {BUNDLE}/scripts/total.py", EXEC),
        (f"flock /tmp/lock -c 'python3 {BUNDLE}/scripts/total.py'", EXEC),
        (f"taskset -c 0 python3 {BUNDLE}/scripts/total.py", EXEC),
        (f"gosu app python3 {BUNDLE}/scripts/total.py", EXEC),
        (f"su - app -c 'python3 {BUNDLE}/scripts/total.py a'", EXEC),
        (f"script -qc 'python3 {BUNDLE}/scripts/total.py' log.txt", EXEC),
        (f"node -e \"require('child_process').execSync('python3 {BUNDLE}/scripts/total.py a')\"", EXEC),
        (f"ruby -e \"system('{BUNDLE}/scripts/total.py a')\"", EXEC),
    ],
)  # fmt: skip
def test_more_ways_to_run_a_script(command, expected):
    assert short(command, "total 7\n") == [expected]


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'cat \"$0\"' @/taxes.md",
        "bash -c 'cat \"$1\"' _ @/taxes.md",
        "bash -c 'cat \"$@\"' _ @/taxes.md",
        "awk 'FNR==1 {print FILENAME} {print}' @/taxes.md",
        "awk 'FNR==1{print FILENAME}1' @/taxes.md",
        "cat @/absent.md 2>/dev/null || cat @/taxes.md",
    ],
)
def test_more_ways_to_read_a_whole_file(command):
    assert READ_TAXES in short(command.replace("@/", f"{REFERENCES}/"), TAXES)


def test_awk_that_goes_on_to_the_next_line_prints_a_part():
    command = f"awk 'NR>2{{next}} {{print}}' {REFERENCES}/taxes.md"
    assert short(command, "# Taxes\n") == [("read", "references/taxes.md", "partial")]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("jq . @/assets/a.json 2>/dev/null || python3 -m json.tool @/assets/a.json", ("read", "assets/a.json", "partial")),
        ("cat @/references/taxes.md || sed -n '1,200p' @/references/taxes.md", READ_TAXES),
        ("python @/scripts/total.py || python3 @/scripts/total.py", EXEC),
        ("cp @/assets/a.json out/ 2>/dev/null || cp @/assets/a.json .", ("read", "assets/a.json", "none")),
    ],
)  # fmt: skip
def test_a_second_try_at_the_same_file_is_one_access(command, expected):
    output = TAXES if expected[2] != "none" else ""
    assert short(command.replace("@", BUNDLE), output) == [expected]


def test_names_that_a_listing_prints_are_seen_from_its_folder():
    output = f"--- format.md\n{FORMAT}--- taxes.md\n{TAXES}"
    command = f'for f in $(ls {REFERENCES}); do echo "--- $f"; cat {REFERENCES}/$f; done'
    assert short(command, output) == [("read", "references/format.md", "full"), READ_TAXES]


def test_a_sorted_listing_gives_its_files():
    names = f"{BUNDLE}/SKILL.md\n{REFERENCES}/format.md\n{REFERENCES}/taxes.md\n"
    listed = ran(f"find {BUNDLE} -type f", names)
    shown = ran(
        f"cat $(find {BUNDLE} -name '*.md' | sort)", SKILL + FORMAT + TAXES, call_id="c2", line=9
    )  # fmt: skip
    found = [(one.kind, one.resource) for one in events_of(listed, shown, manifest=None)]
    assert sorted(found) == [
        ("list", "."),
        ("read", "SKILL.md"),
        ("read", "references/format.md"),
        ("read", "references/taxes.md"),
    ]


def test_of_a_listing_that_is_searched_only_what_is_shown_counts():
    command = f'cat "$(find {ROOT} -name SKILL.md | grep ledger)"'
    assert both(command, SKILL) == [("ledger", "SKILL.md", "full", ((1, 10),))]
    (event,) = events_of(ran(command, SKILL))
    assert (event.skill, event.resource, event.witness) == ("ledger", "SKILL.md", "both")


@pytest.mark.parametrize(
    "command", [f"X=$(ls {BUNDLE}); echo done", f"for f in $(ls {BUNDLE}); do echo x; done"]
)
def test_a_listing_that_nobody_sees_is_none(command):
    assert seen(command, "done\n") == []


def test_words_at_the_ends_of_lines_are_no_files():
    first = ran(f"ls {REFERENCES}; cat {BUNDLE}/SKILL.md", f"taxes.md\n{SKILL}")
    second = ran(f"cat {REFERENCES}/*", TAXES, call_id="c2", line=9)
    named = {one.resource for one in events_of(first, second, manifest=None)}
    assert named <= {".", "SKILL.md", "references/taxes.md", "references/format.md"}


def test_a_folder_with_a_name_of_its_own_is_listed_and_teaches_its_files():
    listed = ran(f"ls {BUNDLE}/tables", "ports.md\n")
    shown = ran(f"cat {BUNDLE}/tables/*.md", "# Ports\nHigh water\n", call_id="c2", line=9)
    found = [(one.kind, one.resource) for one in events_of(listed, shown, manifest=None)]
    assert found == [("list", "."), ("read", "tables/ports.md")]
    missing = ran(f"ls {BUNDLE}/absent", "ls: cannot access: No such file\n", exit_code=2)
    (event,) = events_of(missing, manifest=None)
    assert (event.kind, event.resource, event.ok) == ("list", ".", False)


def test_a_link_is_taken_for_a_copy():
    linked = ran(f"ln -s {BUNDLE} kit")
    shown = ran("cat kit/references/taxes.md", TAXES, call_id="c2", line=9)
    run = ran("python3 kit/scripts/total.py a", "total 7\n", call_id="c3", line=12)
    found = [(one.kind, one.resource) for one in events_of(linked, shown, run, manifest=None)]
    assert found == [("read", "references/taxes.md"), ("import", "scripts/total.py")]


def test_a_copied_script_stays_a_copy_when_files_beside_it_are_read():
    copied = ran(f"cp -r {BUNDLE} /tmp/mine")
    shown = ran("cat /tmp/mine/SKILL.md", SKILL, call_id="c2", line=9)
    run = ran("python3 /tmp/mine/scripts/total.py a", "total 7\n", call_id="c3", line=12)
    found = [(one.kind, one.resource) for one in events_of(copied, shown, run, manifest=None)]
    assert found == [("read", "SKILL.md"), ("import", "scripts/total.py")]


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
    assert short(command, "# Taxes\n") == [("read", "references/taxes.md", exposed)]


def test_a_skill_not_offered_is_not_meant_by_a_listing():
    offered = (OfferedSkill("ledger", f"{BUNDLE}/SKILL.md"),)
    call = ran("cat $(ls .claude/skills/*/SKILL.md | head -1)", TIDES)
    assert events_of(call, manifest=None, offered=offered) == []


def test_a_second_try_in_other_letters_is_one_access():
    command = f"cat {BUNDLE}/SKILL.md 2>/dev/null || cat {BUNDLE}/skill.md"
    assert short(command, SKILL) == [("read", "SKILL.md", "full")]


def test_a_copy_into_a_folder_whose_name_the_log_does_not_tell():
    call = ran(f"cp {REFERENCES}/taxes.md . && cat taxes.md", TAXES)
    found = [(one.kind, one.content_exposed) for one in events_of(call, manifest=None, cwd=None)]
    assert found == [("read", "none"), ("read", "full")]
