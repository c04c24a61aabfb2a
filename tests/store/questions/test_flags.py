"""What is odd, contaminated or cut off is flagged, and nothing else is."""

from collections import Counter
from itertools import chain
from typing import Any

import pytest
from msgspec import structs

from skilljuror.base.results import OfferedRow
from skilljuror.base.trajectory import Step
from skilljuror.store import open_write
from skilljuror.store.rows import analyse
from tests.support import fabricated_records as fake
from tests.support.attribution_runs import run_of
from tests.support.fabricated_studies import rows

CONTAMINATED: dict[str, tuple[str, dict[str, Any]]] = {
    "other_skill_offered": ("no-skill", {}),
    "skill_not_offered": ("pd", {}),
    "other_variants_file": ("baseline", {}),
    "skill_in_no_skill_arm": ("no-skill", {}),
    "other_variant": ("pd", {"variant": "baseline"}),
    "variant_changed": ("pd", {"variant_digest": "0" * 64}),
    "substrate_changed": ("pd", {"substrate_digest": "other"}),
    "other_plan": ("pd", {"config_digest": "other"}),
}


LOGGED: dict[str, dict[str, Any]] = {
    "skill_in_no_skill_arm": {"offered": None},
    "other_skill_offered": {"events": ()},
    "skill_not_offered": {"offered": (OfferedRow("t1", "unused", False),)},
    "other_variants_file": {
        "events": (fake.event("t1", resource="references/a.md", phantom=True),),
    },
}
"""What the log of such a trial shows, where it is more than one read of SKILL.md."""


@pytest.mark.slow
@pytest.mark.parametrize("flag", CONTAMINATED)
def test_contamination_is_flagged(tmp_path, flag):
    condition, fields = CONTAMINATED[flag]
    path = tmp_path / "study.duckdb"
    trial = fake.trial("alpha", condition, **fields)
    with open_write(path) as store:
        store.put_plan(fake.plan(["alpha"]))
        store.put_builds([fake.build("alpha")])
        store.put("trials", [trial])
        run = fake.run("t1", trial=trial.trial, events=[fake.event("t1")])
        fake.put(store, [fake.replaced(run, **LOGGED.get(flag, {}))])
    found = rows(path, "quality_flags", "flag", "kind", "trial")
    assert (flag, "contamination", trial.trial) in found
    assert len([row for row in found if row[1] == "contamination"]) == 1


HARMLESS: dict[str, tuple[str, dict[str, Any]]] = {
    "a clean trial": ("pd", {}),
    "an accepted skill is offered": (
        "no-skill", {"events": (), "offered": (OfferedRow("t1", "unused", False),)},
    ),
    "the log does not say what was offered": ("pd", {"offered": None}),
    "a plugin's name stands before the skill": (
        "pd", {"offered": (OfferedRow("t1", "plugin:csv-report", False),)},
    ),
    "a path of another variant is tried in vain": (
        "baseline",
        {"events": (
            fake.event("t1", resource="references/a.md", phantom=True, content_exposed="none"),
        )},
    ),
    "a path of no variant shows something": (
        "baseline", {"events": (fake.event("t1", resource="notes.md", phantom=True),)},
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", HARMLESS)
def test_what_the_agent_chose_is_no_contamination(tmp_path, case):
    condition, logged = HARMLESS[case]
    path = tmp_path / "study.duckdb"
    trial = fake.trial("alpha", condition)
    with open_write(path) as store:
        store.put_plan(fake.plan(["alpha"]))
        store.put_builds([fake.build("alpha")])
        store.put("trials", [trial])
        run = fake.run("t1", trial=trial.trial, events=[fake.event("t1")])
        fake.put(store, [fake.replaced(run, **logged)])
    assert "contamination" not in {row[0] for row in rows(path, "quality_flags", "kind")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("condition", "bundled", "options", "accepted", "flags"),
    [
        ("no-skill", True, {}, (), {"other_skill_offered"}),
        ("no-skill", False, {}, (), {"other_skill_offered"}),
        ("pd", True, {}, (), {"other_skill_offered"}),
        ("pd", True, {}, ("csv-report",), {"other_skill_offered"}),
        ("pd", True, {}, ("mod-making",), set()),
        ("no-skill", True, {"bundled_skills": True}, (), set()),
        ("no-skill", False, {"bundled_skills": True}, (), {"other_skill_offered"}),
    ],
)
def test_a_listed_skill_that_no_plan_offers_is_contamination_unless_accepted(
    tmp_path, condition, bundled, options, accepted, flags
):
    path = tmp_path / "study.duckdb"
    plan, trial = fake.plan(["alpha"]), fake.trial("alpha", condition)
    agent = plan.config.agent.model_copy(update={"options": options})
    config = plan.config.model_copy(update={"accept_skills": accepted, "agent": agent})
    listed = [OfferedRow("t1", "mod-making", bundled)]
    listed += [OfferedRow("t1", "csv-report", False)] if condition == "pd" else []
    with open_write(path) as store:
        store.put_plan(plan.model_copy(update={"config": config}))
        store.put_builds([fake.build("alpha")])
        store.put("trials", [trial])
        fake.put(store, [fake.replaced(fake.run("t1", trial=trial.trial), offered=tuple(listed))])
    found = rows(path, "quality_flags", "flag", "kind", "detail")
    said = "the log lists mod-making, which its condition does not offer"
    assert {row for row in found if row[1] == "contamination"} == {
        (flag, "contamination", said) for flag in flags
    }


SONNET, OPUS = "claude-sonnet-4-5", "claude-opus-4-6"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planned", "vary", "answered", "flagged"),
    [
        ("sonnet", ("skill",), {"baseline": [SONNET] * 3, "pd": [OPUS] * 3}, {"pd": 3}),
        ("opus", ("skill",), {"baseline": [SONNET] * 3, "pd": [OPUS] * 3}, {"baseline": 3}),
        (None, ("skill",), {"baseline": [SONNET] * 3, "pd": [SONNET, SONNET, OPUS]}, {"pd": 1}),
        (None, ("skill", "model"), {"baseline": [SONNET] * 3, "pd": [OPUS] * 3}, {}),
        ("own", ("skill", "model"), {"baseline": [SONNET] * 3, "pd": [OPUS] * 3}, {}),
        ("sonnet", ("skill", "model"), {"baseline": [SONNET] * 3, "pd": [OPUS] * 3}, {"pd": 3}),
        (
            "sonnet", ("skill",),
            {
                "baseline": [SONNET, f"anthropic/{SONNET}", None],
                "pd": [f"{SONNET}-20250929", f"us.anthropic.{SONNET}-20250929-v1:0", "sonnet"],
            },
            {},
        ),
        (
            None, ("skill",),
            {"baseline": [f"{SONNET}-20250929"] * 3, "pd": [SONNET, f"{SONNET}-20251231", SONNET]},
            {"pd": 1},
        ),
    ],
)  # fmt: skip
def test_a_trial_that_another_model_answered_is_contaminated(
    tmp_path, planned, vary, answered, flagged
):
    path = tmp_path / "study.duckdb"
    plan = fake.plan(["alpha"], tuple(answered), 3)
    arms = tuple(
        arm.model_copy(update={"model": arm.name if planned == "own" else planned})
        for arm in plan.config.conditions
    )
    config = plan.config.model_copy(update={"conditions": arms, "vary": vary})
    with open_write(path) as store:
        store.put_plan(plan.model_copy(update={"config": config}))
        store.put("trials", [fake.trial("alpha", one.condition, one.number) for one in plan.trials])
        fake.put(store, [
            fake.run(name := fake.name_of("alpha", arm, number), trial=name, model=model)
            for arm, models in answered.items()
            for number, model in enumerate(models, 1)
        ])  # fmt: skip
    found = rows(path, "quality_flags", "kind", "flag", "condition")
    told = Counter(row[1:] for row in found if row[0] == "contamination")
    assert told == {("other_model", arm): count for arm, count in flagged.items()}
    names = rows(path, "provenance", "answered_by", "trials")
    assert dict(names) == Counter(chain.from_iterable(answered.values()))


def test_the_model_of_a_run_gave_the_main_agent_most_answers(tmp_path):
    path, name = tmp_path / "study.duckdb", fake.name_of("alpha", "pd")
    answers = (
        ("main", OPUS),
        ("main", SONNET),
        ("main", SONNET),
        *[("helper", "claude-haiku-4-5")] * 9,
    )
    log = structs.replace(
        run_of(model=OPUS),
        steps=tuple(Step(agent, n, n, model=model) for n, (agent, model) in enumerate(answers, 1)),
    )
    with open_write(path) as store:
        store.put_plan(fake.plan(["alpha"]))
        store.put("trials", [trial := fake.trial("alpha", "pd")])
        fake.put(store, [analyse(name, log, trial, None)])
    assert rows(path, "trajectories", "model") == [(SONNET,)]
    found = rows(path, "quality_flags", "flag", "kind", "trial", "detail")
    assert ("several_models", "circumstance", name, f"{SONNET}, {OPUS}") in found


def test_ends_without_a_result_or_a_log_are_circumstances(tmp_path):
    path = tmp_path / "study.duckdb"
    trials = [
        fake.trial("alpha", "pd", 1, status="error", reward=None, exception="Broken"),
        fake.trial("alpha", "pd", 2, agent_untried="codex 99.0 is newer"),
    ]
    with open_write(path) as store:
        store.put_plan(fake.plan(["alpha"], conditions=["pd", "baseline"], trials=2))
        store.put("trials", trials)
        fake.put(store, [fake.run("t2", trial=trials[1].trial, complete=False)])
    found = rows(path, "quality_flags", "flag", "kind", "trial", "detail")
    name = trials[0].trial
    assert {row[0]: row[1:] for row in found if row[2] == name} == {
        "unfinished": ("circumstance", name, "error"),
        "exception": ("circumstance", name, "Broken"),
        "no_readable_log": ("circumstance", name, "error"),
    }
    assert ("log_cut_off", "circumstance", trials[1].trial, "4 steps") in found
    assert ("agent_untried", "circumstance", trials[1].trial, "codex 99.0 is newer") in found
    missing = {row[2] for row in found if row[0] == "unfinished" and row[3] == "missing"}
    assert missing == {"alpha__baseline__1", "alpha__baseline__2"}


def test_behaviour_is_flagged_and_is_no_contamination(tmp_path):
    path = tmp_path / "study.duckdb"
    trials = [fake.trial("alpha", "pd", n) for n in (1, 2)]
    events = [
        fake.event("t1", 0, kind="activate", via="skill-tool", ok=False),
        fake.event("t1", 1, phantom=True, resource="x.md"),
        fake.event("t1", 2, kind="edit"),
    ]
    with open_write(path) as store:
        store.put_plan(fake.plan(["alpha"], trials=2))
        store.put("trials", trials)
        fake.put(store, [fake.run("t1", trial=trials[0].trial, events=events, complete=False)])
        fake.put(store, [fake.run("t2", trial=trials[1].trial)])
    kinds = {row[0]: row[1] for row in rows(path, "quality_flags", "flag", "kind")}
    assert {"activation_failed", "wrong_paths", "skill_edited", "skill_unread"} <= set(kinds)
    assert kinds["log_cut_off"] == "circumstance"
    assert "contamination" not in kinds.values()


SCRIPT = "scripts/run.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("condition", "event", "flags"),
    [
        ("baseline", {"kind": "write"}, set()),
        ("baseline", {"kind": "exec"}, set()),
        ("baseline", {"kind": "read"}, set()),
        ("baseline", {"kind": "exec", "ok": False, "content_exposed": "none"}, {"wrong_paths"}),
        ("baseline", {"kind": "write", "resource": "scripts/new.py"}, {"skill_edited"}),
        ("pd", {"kind": "write", "phantom": False}, {"skill_edited"}),
    ],
)
def test_who_writes_and_uses_a_carried_file_as_told_does_nothing_odd(
    tmp_path, condition, event, flags
):
    """The flat page carries the script and says where to write it; `pd` has it on disk."""
    path = tmp_path / "study.duckdb"
    root, script = "csv-report/SKILL.md", f"csv-report/{SCRIPT}"
    flat = fake.manifest("baseline", [root], announced=(script,))
    split = fake.manifest("pd", [root, script])
    built = fake.build("alpha")
    record = built.record.model_copy(update={"variants": (flat, split)})
    trial = fake.trial("alpha", condition)
    events = [
        fake.event("t1"),
        fake.event("t1", 1, **{"resource": SCRIPT, "phantom": True} | event),
    ]
    with open_write(path) as store:
        store.put_plan(fake.plan(["alpha"]))
        store.put_builds([built._replace(record=record)])
        store.put("trials", [trial])
        fake.put(store, [fake.run("t1", trial=trial.trial, events=events)])
    found = {row[0] for row in rows(path, "quality_flags", "flag")}
    assert found & {"wrong_paths", "skill_edited", "other_variants_file"} == flags


@pytest.mark.parametrize(
    ("after", "edits", "said"),
    [
        (fake.DIGEST, 0, None),
        (None, 0, None),
        ("0" * 64, 0, "its files are not those of before"),
        ("gone", 0, "its files are not those of before"),
        ("0" * 64, 1, "1 events, its files are not those of before"),
    ],
)
def test_a_skill_that_was_edited_is_flagged_once(tmp_path, after, edits, said):
    path = tmp_path / "study.duckdb"
    trial = fake.trial("alpha", "pd", variant_digest=fake.DIGEST, variant_digest_after=after)
    with open_write(path) as store:
        store.put_plan(fake.plan(["alpha"]))
        store.put("trials", [trial])
        events = [fake.event("t1", n, kind="edit") for n in range(edits)]
        fake.put(store, [fake.run("t1", trial=trial.trial, events=events)])
    found = rows(path, "quality_flags", "flag", "kind", "detail")
    edited = [row[1:] for row in found if row[0] == "skill_edited"]
    assert edited == ([("behaviour", said)] if said else [])


def test_skills_of_two_plugins_are_two_and_the_variants_is_its_folder(tmp_path):
    path = tmp_path / "study.duckdb"
    trial = fake.trial("alpha", "pd")
    names = "plug:csv-report", "csv-report"
    plugins = "a:review", "b:review"
    plan = fake.plan(["alpha"])
    config = plan.config.model_copy(update={"accept_skills": plugins})
    with open_write(path) as store:
        store.put_plan(plan.model_copy(update={"config": config}))
        store.put_builds([fake.build("alpha")])
        store.put("trials", [trial])
        events = [fake.event("t1", n, skill=name) for n, name in enumerate((*names, *plugins))]
        offered = tuple(OfferedRow("t1", name, False) for name in ("plug:csv-report", *plugins))
        run = fake.run("t1", trial=trial.trial, events=events)
        fake.put(store, [fake.replaced(run, offered=offered)])
        found = [fake.event("t2", n, skill=name) for n, name in enumerate(plugins[:1])]
        offers = tuple(OfferedRow("t2", name, False) for name in plugins)
        fake.put(store, [fake.replaced(fake.run("t2", events=found), offered=offers)])
    used = rows(path, "SELECT DISTINCT run, skill FROM uses ORDER BY ALL", "run", "skill")
    assert used == [
        (trial.trial, "a:review"), (trial.trial, "b:review"), (trial.trial, "csv-report"),
        ("t2", "a:review"),
    ]  # fmt: skip
    unopened = rows(path, "never_opened", "skill", "resource")
    assert ("b:review", None) in unopened
    assert not {("a:review", None), ("csv-report", "SKILL.md")} & set(unopened)
    invoked = rows(path, "invocation_by_skill", "condition", "skill", "known", "invoked")
    assert ("observed", "a:review", 1, 1) in invoked
    assert ("observed", "b:review", 1, 0) in invoked
    assert ("pd", "csv-report", 1, 1) in invoked
    for query in ("skills_opened", "by_skill"):
        assert set(rows(path, query, "skill", "offered", "opened")) == {
            ("csv-report", 1, 1), ("a:review", 2, 2), ("b:review", 2, 1),
        }  # fmt: skip
