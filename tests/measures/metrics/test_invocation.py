import pytest

from skilljuror.base.results import TrialContext
from skilljuror.base.trajectory import OfferedSkill, Resource, SkillManifest
from skilljuror.measures.metrics.invocation import measure
from tests.support.metric_contexts import event, run, step, trajectory


def invocation(*events, steps=9, **fields):
    context = TrialContext("t", trajectory=run(steps).trajectory, events=events, **fields)
    return {(row.metric, row.key): row for row in measure(context)}


@pytest.mark.parametrize(
    ("kind", "fields", "invoked"),
    [
        ("activate", {}, 1),
        ("activate", {"ok": False, "content_exposed": "none"}, 0),
        ("read", {}, 1),
        ("read", {"content_exposed": "none"}, 0),
        ("read", {"resource": "x.md", "resource_class": "support"}, 0),
        ("read", {"bundled": True}, 0),
        ("list", {"resource": ".", "resource_class": "data"}, 0),
    ],
)
def test_invoked_is_an_activation_or_a_read_of_the_root_with_content(kind, fields, invoked):
    assert invocation(event(2, kind, **fields))["skill_invoked", ""].value == invoked


def test_mode_step_and_seconds_of_the_first_invocation():
    steps = [step(1, at=100.0), step(2, at=130.0)]
    run_ = trajectory(steps, started_at=90.0)
    events = (event(2, "activate", via="skill-tool"), event(2, via="shell"))
    context = TrialContext("t", trajectory=run_, events=events)
    rows = {(row.metric, row.key): row.value for row in measure(context)}
    assert rows["invocation_mode", "skill-tool"] == 1
    assert rows["invocation_mode", "shell"] == 0
    assert (rows["invocation_step", ""], rows["invocation_seconds", ""]) == (2, 40)


def test_never_invoked_is_censored():
    assert invocation()["invocation_step", ""].reason == "never"


def test_a_return_visit_is_in_a_later_third():
    support = {"resource": "x.md", "resource_class": "support"}
    rows = invocation(event(1), event(2), event(4, **support), event(9, **support))
    assert rows["return_visits", ""].value == 1


def test_a_return_after_an_injection_before_the_first_step():
    rows = invocation(event(0, "activate", via="injected"), event(5))
    assert rows["return_visits", ""].value == 1


def test_offered_skills_that_were_never_opened():
    manifest = SkillManifest(skills=("csv", "pdf"))
    rows = invocation(event(1, skill="csv"), event(2, skill="plugin:pdf"), manifest=manifest)
    assert rows["offered_skills", ""].value == 2
    assert rows["offered_never_opened", ""].value == 1


def test_the_log_tells_what_was_offered_where_no_manifest_does():
    offered = (OfferedSkill("p:csv"), OfferedSkill("own", bundled=True))
    run = trajectory([step(1)], offered=(*offered, OfferedSkill("q:csv")))
    context = TrialContext("t", trajectory=run, events=(event(1, skill="q:csv"),))
    rows = {row.metric: row for row in measure(context)}
    assert (rows["offered_skills"].value, rows["offered_never_opened"].value) == (2, 1)
    assert invocation()["offered_skills", ""].reason == "offer_not_logged"


def resource(skill, lines):
    return Resource(skill, "SKILL.md", "root", "rule\n" * lines)


ROOTS = SkillManifest((resource("csv", 10), resource("pdf", 30)), skills=("csv", "pdf"))


@pytest.mark.parametrize(
    ("events", "manifest", "shown"),
    [
        ((), ROOTS, "never"),
        ((event(1),), None, 1),  # shown whole: its length does not matter
        ((event(1, content_exposed="partial", lines=((1, 4),)),), None, "unknown_lines"),
        ((event(1, content_exposed="partial", lines=((1, 4),)),), ROOTS, 0.4),
        ((event(1, content_exposed="partial", lines=((1, 4),)),
          event(2, content_exposed="partial", lines=((3, 5), (9, 99)))), ROOTS, 0.7),
        ((event(1, content_exposed="partial", lines=((1, 4),)), event(2)), ROOTS, 1),
        ((event(1), event(2, skill="pdf", content_exposed="partial", lines=((1, 10),))), ROOTS, 0.5),
        ((event(1, content_exposed="partial", lines=None),), ROOTS, "unknown_lines"),
        ((event(1, "list", content_exposed="none"),), ROOTS, "never"),
        ((event(1, agent="helper"),), ROOTS, "never"),
        ((event(1, phantom=True),), ROOTS, "never"),
        ((event(1, resource="references/x.md", resource_class="support"),), ROOTS, "never"),
    ],
)  # fmt: skip
def test_how_much_of_the_roots_was_shown(events, manifest, shown):
    row = invocation(*events, manifest=manifest)["root_shown", ""]
    assert (row.value, row.reason) == ((None, shown) if isinstance(shown, str) else (shown, None))
