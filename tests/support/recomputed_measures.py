"""The second way to compute every measure of §3, §5 and §7, and made-up runs to try it on.

Plain Python over the rows of steps, events and runs, written from the formulas alone; it shares no
code with the metrics.
"""

import math
import random
from collections import Counter, defaultdict
from typing import Any

from msgspec.structs import replace

from skilljuror.base import texts
from skilljuror.base.skill import MappedUnit, ResourceClass, Unit, UnitLocation
from skilljuror.base.trajectory import Resource, SkillManifest, Step, ToolCall, ToolResult
from skilljuror.store import open_write
from skilljuror.store.rows import analyse
from tests.support import fabricated_records as fake
from tests.support.metric_contexts import trajectory

ROOT = "/home/a/.agents/skills"
LINES = 12
FILES = {
    (skill, path): [
        f"{skill} {path} rule {n}: weigh {n * 7 + len(path)} crates" for n in range(LINES)
    ]
    for skill in ("tea", "coffee")
    for path in ("SKILL.md", "references/rules.md", "scripts/run.py")
}
UNITS = len(FILES) * LINES
NOT_TOLD = object()
"""A number that the rows do not tell."""
Found = dict[tuple[str, str], Any]
OPENS = {"activate", "read", "search", "exec", "import"}
NO_USE = {"edit", "write", "mention"}


# made-up runs


def manifest():
    kinds: dict[str, ResourceClass] = {
        "SKILL.md": "root",
        "references/rules.md": "support",
        "scripts/run.py": "code",
    }
    resources = tuple(
        Resource(skill, path, kinds[path], "\n".join(lines) + "\n")
        for (skill, path), lines in FILES.items()
    )
    return SkillManifest(resources, (ROOT,), ("tea", "coffee", "unused"), variant="pd")


def units():
    """Every line is a unit; one of them stands nowhere in the variant."""
    found = []
    for (skill, path), lines in FILES.items():
        for n, text in enumerate(lines, 1):
            unit = Unit(f"{skill}:{path}:{n}", "statement", "source.md", n, n, (), text)
            found.append(MappedUnit(unit, {"pd": UnitLocation(f"{skill}/{path}", n, n)}))
    lost = Unit("lost", "statement", "source.md", 99, 99, (), "lost")
    return [*found, MappedUnit(lost, {"pd": None})]


def shell(chance):
    """A command, what it prints and its exit status."""
    skill, path = chance.choice([*FILES])
    lines, place = FILES[skill, path], f"{ROOT}/{skill}/{path}"
    first = chance.randint(1, LINES - 4)
    part = "\n".join(lines[first - 1 : first + 3]) + "\n"
    return chance.choice([
        ("ls /tmp", "notes\n", 0),
        (f"ls {ROOT}/{skill}", "SKILL.md\nreferences\nscripts\n", 0),
        (f"cat {place}", "\n".join(lines) + "\n", 0),
        (f"sed -n '{first},{first + 3}p' {place}", part, 0),
        (f"cat {place}.old", f"cat: {place}.old: No such file or directory\n", 1),
        (f"cat {ROOT}/alien/SKILL.md", "An alien rule that nobody offered: weigh nothing.\n", 0),
        (f"python {ROOT}/{skill}/scripts/run.py", "done\n", chance.choice([0, 1, None])),
        (f"echo see {place} > notes.txt", "", 0),
    ])  # fmt: skip


def a_run(key, chance):
    """Zero to nine steps of the main agent, perhaps a sub-agent, perhaps no clock."""
    clock = chance.random() < 0.7
    steps: list[Step] = []
    for agent, most in (
        ("main", chance.choice([0, 1, 2, 5, 9])),
        ("helper", chance.choice([0, 2])),
    ):
        for index in range(1, most + 1):
            command, output, status = shell(chance)
            line = 2 * len(steps) + 1
            call = ToolCall(
                call_id=f"c{line}", name="bash", action="shell", line=line, command=command,
                result=ToolResult(text=output, line=line + 1, exit_code=status),
            )  # fmt: skip
            at = 1_767_000_000.0 + line if clock else None
            steps.append(Step(agent, index, line, text="so", calls=(call,), timestamp=at))
    start = 1_767_000_000.0 if clock else None
    return replace(trajectory(steps, started_at=start), trajectory=key)


def made_up(folder):
    """A study of one task, 30 trials per arm: the last left no log, two were never run."""
    chance, path = random.Random(5), folder / "study.duckdb"
    arms = {"no-skill": SkillManifest(), "baseline": SkillManifest(), "pd": manifest()}
    found, records = [], []
    for number in range(1, 31):
        for arm, offered in arms.items():
            record = fake.trial("alpha", arm, number, reward=chance.choice([0.0, 0.5, 1.0, None]))
            log = a_run(record.trial, chance) if number < 30 else None
            if arm != "baseline" or number > 2:
                records.append(record)
                known = units() if arm == "pd" else ()
                found.append(analyse(record.trial, log, record, offered, known))
    with open_write(path) as store:
        store.put_plan(fake.plan(["alpha"], trials=30))
        store.put("trials", records)
        fake.put(store, found)
    return path


# the second way


def shows(one):
    return one.content_exposed != "none"


def opened(one):
    return one.kind in OPENS and not one.phantom


def takes_up(one):
    read = one.kind == "read" and one.resource_class == "root" and shows(one)
    return not one.phantom and (read or (one.kind == "activate" and one.ok is True))


def part(step, steps, parts):
    return math.floor(parts * (2 * step - 1) / (2 * steps))


def ratio(above, below):
    return above / below if below else None


def by_scope(found, steps, events, key):
    """Measures that sub-agents have as well, under their own key."""
    uses = [one for one in events if one.kind not in NO_USE]
    touched = {(one.agent, one.step) for one in uses}
    skill_steps = [one for one in steps if (one.agent, one.step) in touched]
    resources = {(one.skill, one.resource): one for one in uses if opened(one)}
    real = [one for one in uses if not one.phantom]
    seen = [one for one in real if one.kind in {"read", "search"} and shows(one)]
    code = [one for one in real if one.resource_class == "code"]
    found |= {
        ("agent_steps", key): len(steps),
        ("skill_steps", key): len(skill_steps),
        ("skill_step_share", key): ratio(len(skill_steps), len(steps)),
        ("skill_text_share", key): ratio(
            sum(one.text_bytes for one in skill_steps), sum(one.text_bytes for one in steps)
        ),
        ("fanout", key): len(resources),
        ("fanout_support", key): sum(one.resource_class != "root" for one in resources.values()),
        ("support_read", key): any(one.resource_class == "support" for one in seen),
        ("script_exec", key): any(one.kind == "exec" for one in code),
        ("helper_use", key): any(one.kind == "import" or one in seen for one in code),
        ("skill_invoked", key): any(map(takes_up, uses)),
        ("resource_events", key): len(uses),
        ("failed_events", key): sum(one.ok is False for one in uses),
        ("phantom_events", key): sum(one.phantom for one in uses),
    }
    for kind in OPENS | NO_USE | {"list"}:
        count = sum(one.kind == kind for one in events)
        found["events", f"{key}:{kind}" if key else kind] = count
    return skill_steps, uses


def timing(found, places, steps):
    thirds = Counter(part(one, steps, 3) for one in places)
    bins = Counter(part(one, steps, 20) for one in places)
    found |= {("skill_steps_in_third", str(n)): thirds[n] for n in range(3)}
    found |= {("skill_steps_in_bin", f"{n:02}"): bins[n] for n in range(20)}
    found["skill_thirds", ""] = len(thirds)
    found["exposed", ""] = bool(places)
    found["distributed", ""] = len(thirds) >= 2 if places else None
    found["fewer_than_three_steps", ""] = steps < 3
    found["first_skill_step", ""] = min(places, default=None)
    found["first_skill_position", ""] = (min(places) - 0.5) / steps if places else None


def taking_up(found, one, uses, steps):
    first = next(filter(takes_up, uses), None)
    at = next(
        (s.timestamp for s in one.steps if first and s.agent == "main" and s.step == first.step),
        None,
    )
    known = first and first.step and at and one.started_at
    at_once = 0.0 if first and first.step == 0 else None
    found["invocation_step", ""] = first.step if first else None
    found["invocation_seconds", ""] = (at - one.started_at).total_seconds() if known else at_once
    for mode in ("skill-tool", "read-tool", "shell", "injected", "slash", "reinjected", "python"):
        found["invocation_mode", mode] = first is not None and first.via == mode
    visits = defaultdict(list)
    for use in filter(opened, uses):
        third = part(use.step, steps, 3) if use.step else 0
        visits[use.skill, use.resource].append(third)
    found["return_visits", ""] = sum(max(thirds) > thirds[0] for thirds in visits.values())


def roots(found, one):
    """Lines of the opened roots that the main agent was shown; of logs as found only whole ones are known."""
    opened = defaultdict(list)
    for use in one.events:
        own = use.agent == "main" and not use.bundled and not use.phantom
        if own and use.resource_class == "root" and shows(use):
            opened[use.skill, use.resource].append(use)
    shares: list[Any] = []
    for uses in opened.values():
        if any(use.content_exposed == "full" for use in uses):
            shares.append(1)
        elif one.trial is None:
            found["root_shown", ""] = NOT_TOLD
            return
        else:
            ranges = [r for use in uses for r in use.lines or []]
            lines = {n for r in ranges for n in range(r["first"], r["last"] + 1) if n <= LINES}
            placed = all(use.lines is not None for use in uses)
            shares.append(len(lines) / LINES if placed else None)
    known = shares and None not in shares
    found["root_shown", ""] = sum(shares) / len(shares) if known else None


def offer(found, one):
    if one.trial is None and not one.offered_known:
        names = None
    elif one.trial is None:
        names = {skill.skill for skill in one.offered if not skill.bundled}
    else:
        names = {"tea", "coffee", "unused"} if "__pd__" in one.trial else set()
    got = {
        use.skill
        for use in one.events
        if opened(use) and use.kind != "search" and use.ok is not False
    }
    found["offered_skills", ""] = None if names is None else len(names)
    found["offered_never_opened", ""] = None if names is None else len(names - got)


def seen_units(use):
    """Lines of the made-up files that an event showed: every line is a unit."""
    if use.kind not in {"activate", "read", "search"} or not shows(use):
        return []
    name, ranges = (use.skill, use.resource), use.lines or []
    if use.content_exposed == "full":
        ranges = [{"first": 1, "last": LINES}]
    shown = {n for r in ranges for n in range(r["first"], r["last"] + 1)}
    return [(*name, n) for n in sorted(shown)] if name in FILES else []


def tokens_shown(use):
    """Tokens of the lines of the made-up files that an event showed."""
    ranges: dict[int, str] = {}
    for skill, path, n in seen_units(use):
        ranges[n] = FILES[skill, path][n - 1]
    return texts.count("".join(f"{ranges[n]}\n" for n in sorted(ranges)))


def knowledge(found, one):
    """Measures of units, and the step at which each reached the main agent."""
    seen = [(unit, use) for use in one.events for unit in seen_units(use)]
    main = [(unit, use.step) for unit, use in seen if use.agent == "main"]
    arrived = dict(reversed(main))
    reached = {unit for unit, _ in seen}
    found["units_offered", ""] = UNITS
    found["units_exposed", ""] = len(reached)
    found["unit_exposure_share", ""] = len(reached) / UNITS
    found["unit_repeats", ""] = len(main) - len(arrived)
    shown = sum(tokens_shown(use) for use in one.events)
    found["skill_tokens_shown", ""] = shown
    found["tokens_per_exposed_unit", ""] = ratio(shown, len(reached))
    found["first_exposure_step", ""] = min(arrived.values(), default=None)
    return arrived


def expected(one):
    """(metric, key) -> number or None, and the main agent's arrivals of units."""
    found: Found = {}
    main = [step for step in one.steps if step.agent == "main"]
    subs = [step for step in one.steps if step.agent != "main"]
    events = [use for use in one.events if not use.bundled]
    by_scope(found, subs, [use for use in events if use.agent != "main"], "sub")
    skill_steps, uses = by_scope(found, main, [use for use in events if use.agent == "main"], "")
    steps = len(main)
    timing(found, [step.step for step in skill_steps], steps)
    taking_up(found, one, uses, steps)
    offer(found, one)
    roots(found, one)
    mapped = one.trial is not None and "__pd__" in one.trial
    return found, knowledge(found, one) if mapped else None
