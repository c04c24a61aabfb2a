"""Which skills were invoked and how: by hand, and counted a second way in plain Python."""

import random
from collections import defaultdict
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from skilljuror.base.results import OfferedRow
from skilljuror.base.trajectory import Via
from skilljuror.measures.run_measures import is_invocation
from skilljuror.store import open_write
from skilljuror.store.questions import run
from tests.support import fabricated_records as fake
from tests.support.fabricated_studies import ingested, rows

WAYS: tuple[Via, ...] = get_args(Via)
COLUMNS = {way: f"by_{way.replace('-', '_')}" for way in WAYS}
COUNTS = ("skill", "known", "invoked", "invocation_rate")
ACTIVATED: dict[str, Any] = {"kind": "activate", "via": "skill-tool"}
FAILED = {"kind": "activate", "via": "slash", "ok": False, "content_exposed": "none"}


def observed(folder, events, offered=()):
    """A database of one foreign run; `offered` None is a log that lists nothing."""
    path = folder / "study.duckdb"
    listed = None if offered is None else tuple(OfferedRow("t1", *one) for one in offered)
    found = [fake.event("t1", n, **fields) for n, fields in enumerate(events)]
    with open_write(path) as store:
        fake.put(store, [fake.replaced(fake.run("t1", events=found), offered=listed)])
    return path


@pytest.mark.parametrize(
    "fields",
    [
        FAILED,
        ACTIVATED | {"ok": None},
        ACTIVATED | {"phantom": True},
        {"phantom": True},
        {"content_exposed": "none"},
        {"resource": "references/a.md", "resource_class": "support"},
        {"kind": "search"},
        {"kind": "list", "resource": "."},
    ],
)
def test_what_is_no_invocation_is_a_touch(tmp_path, fields):
    path = observed(tmp_path, [fields], [("plugin:csv-report", False)])
    assert rows(path, "invocation_by_skill", *COUNTS) == [("plugin:csv-report", 1, 0, 0.0)]


def an_event(chance, key, number):
    """Any event on one of three skills."""
    return fake.event(
        key, number,
        skill=chance.choice(["csv-report", "plugin:csv-report", "own", "alien"]),
        kind=chance.choice(["activate", "activate", "read", "read", "search", "exec", "edit"]),
        via=chance.choice(WAYS),
        resource_class=chance.choice(["root", "root", "support"]),
        ok=chance.choice([True, True, False, None]),
        content_exposed=chance.choice(["full", "partial", "none"]),
        phantom=chance.random() < 0.2,
        agent=chance.choice(["main", "helper"]),
    )  # fmt: skip


def made_up(folder):
    """Two tasks in three arms, 40 trials each, every fifth without a log; 20 foreign runs."""
    path, chance = folder / "study.duckdb", random.Random(7)
    plan = fake.plan(["alpha", "beta"], trials=40)
    with open_write(path) as store:
        store.put_plan(plan)
        store.put_builds([fake.build("alpha"), fake.build("beta")])
        store.put(
            "trials", [fake.trial(one.task, one.condition, one.number) for one in plan.trials]
        )
        named = [(one.trial, one.trial) for one in plan.trials if one.number % 5]
        for key, trial in [*named, *((f"foreign-{n}", None) for n in range(20))]:
            events = [an_event(chance, key, n) for n in range(chance.choice([0, 1, 3, 8]))]
            listed = (OfferedRow(key, "own", True), OfferedRow(key, "pdf", False))
            log = fake.run(key, trial=trial, events=events)
            fake.put(store, [fake.replaced(log, offered=chance.choice([None, (), listed]))])
    return path


@pytest.fixture(
    scope="module", params=["made-up", "goldens", pytest.param("corpus", marks=pytest.mark.shared)]
)
def database(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("invoked")
    if request.param == "made-up":
        return made_up(folder)
    return ingested(folder, request.param)


def table(path, name):
    return [SimpleNamespace(**row) for row in run(path, f"FROM {name}").records()]


def naming(path):
    """(run, name as written) -> the name that tables count the Skill under, from the tables alone."""
    built = {(one.build, one.variant): one.skills for one in table(path, "variants")}
    given = {one.trial: built.get((one.task, one.variant), ()) for one in table(path, "trials")}
    folders = {one.trajectory: given.get(one.trial, ()) for one in table(path, "trajectories")}
    listed = {(one.trajectory, one.skill) for one in table(path, "offered")}
    written = listed | {(one.trajectory, one.skill) for one in table(path, "events")}
    own, anywhere = defaultdict(set), defaultdict(set)
    for log, skill in written:
        if ":" in skill:
            own[log, skill.split(":")[-1]].add(skill)
            anywhere[skill.split(":")[-1]].add(skill)

    def name(log, skill):
        tail = skill.split(":")[-1]
        if (log, tail) not in listed and tail in folders[log]:
            return tail
        if (log, skill) in listed or len(own[log, tail]) > 1:
            return skill
        if ":" in skill:
            return tail if (log, tail) in listed else skill
        offered = any(other == tail for _, other in listed)
        names = own[log, tail] or (set() if offered else anywhere[tail])
        return min(names) if len(names) == 1 else skill

    return name


def counted(path):
    """(condition, skill) -> the numbers of its row, from the tables alone."""
    arms = {one.run: one.condition for one in table(path, "runs")}
    logs = {one.trajectory: one.trial or one.trajectory for one in table(path, "trajectories")}
    built = {(one.build, one.variant): one.skills for one in table(path, "variants")}
    offered, touched, name_of = defaultdict(set), defaultdict(list), naming(path)
    for one in table(path, "offered"):
        offered[name_of(one.trajectory, one.skill)].add(logs[one.trajectory])
    for one in table(path, "trials"):
        for skill in built.get((one.task, one.variant), ()):
            offered[skill] |= {one.trial} & set(logs.values())
    for one in sorted(table(path, "events"), key=lambda one: one.ordinal):
        if one.kind not in {"edit", "write", "mention"}:
            touched[name_of(one.trajectory, one.skill), logs[one.trajectory]].append(one)
    usable = {one.run for one in table(path, "arm_runs") if one.usable}
    offers = {skill: names & usable for skill, names in offered.items()}
    touches = {(skill, name) for skill, name in touched if name in usable}
    known = {(skill, name) for skill, names in offers.items() for name in names} | touches
    found: dict[tuple[str, str], Any] = defaultdict(lambda: dict.fromkeys(WAYS, 0) | {"known": 0})
    for skill, name in known:
        row = found[arms[name], skill]
        row["known"] += 1
        first = next(filter(is_invocation, touched.get((skill, name), ())), None)
        if first:
            row[first.via] += 1
    for (arm, skill), row in found.items():
        row["offered"] = any(arms[name] == arm for name in offers.get(skill, ()))
    return dict(found)


@pytest.mark.slow
def test_the_counts_agree_with_a_second_way(database):
    answers = run(database, "invocation_by_skill").records()
    expected = counted(database)
    assert len(answers) == len(expected)
    for row in answers:
        wanted = expected[row["condition"], row["skill"]]
        assert {way: row[name] for way, name in COLUMNS.items()} == {w: wanted[w] for w in WAYS}
        invoked = sum(wanted[way] for way in WAYS)
        assert (row["known"], row["invoked"]) == (wanted["known"], invoked)
        rate = invoked / wanted["known"] if wanted["offered"] else None
        assert row["invocation_rate"] == (rate if rate is None else pytest.approx(rate))
    assert any(row["invoked"] for row in answers)
