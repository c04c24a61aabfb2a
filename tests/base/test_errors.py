"""Every kind of plugin may come from another package, and is refused in one way where it cannot."""

import pytest

from skilljuror.audit.gates import GATES
from skilljuror.audit.gates.findings import Gate
from skilljuror.base.errors import UsageError, resolve
from skilljuror.harness import HARNESSES
from skilljuror.harness.agents import AGENTS, Agent
from skilljuror.harness.base import Harness
from skilljuror.judge import JUDGES, Judge
from skilljuror.layouts import TRANSFORMS
from skilljuror.layouts.base import Transform
from skilljuror.logs import FORMATS
from skilljuror.measures.metrics import METRICS, Metric
from tests.support.every import every

KINDS = {
    "agent": (AGENTS, Agent),
    "format": (FORMATS, None),
    "gate": (GATES, Gate),
    "harness": (HARNESSES, Harness),
    "judge": (JUDGES, Judge),
    "metric": (METRICS, Metric),
    "variant": (TRANSFORMS, Transform),
}
NAMES = [(kind, name) for kind, (table, _) in KINDS.items() for name in table]


@every("kind, name", NAMES)
def test_every_registered_name_resolves_and_so_does_its_path(kind, name):
    table, protocol = KINDS[kind]
    plugin = resolve(table, name, kind, protocol)
    assert resolve(table, table[name], kind, protocol) is plugin


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nope", "unknown {kind} 'nope'; "),
        ("no_such_module:Thing", "{kind} 'no_such_module:Thing' cannot be loaded: No module named"),
        ("json:Thing", "{kind} 'json:Thing' cannot be loaded: module 'json' has no attribute"),
        ("broken:Thing", "{kind} 'broken:Thing' cannot be loaded: invalid syntax"),
    ],
)
def test_what_is_none_is_refused_with_the_names_and_the_way_to_name_ones_own(
    given, said, tmp_path, monkeypatch
):
    (tmp_path / "broken.py").write_text("def f(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    for kind, (table, protocol) in KINDS.items():
        with pytest.raises(UsageError) as refused:
            resolve(table, given, kind, protocol)
        message = refused.value.message
        assert message.startswith(said.format(kind=kind))
        assert message.endswith(
            f"choose one of {', '.join(sorted(table))}, or name your own as module:attribute"
        )


@pytest.mark.parametrize("kind", [kind for kind, (_, protocol) in KINDS.items() if protocol])
def test_an_object_of_another_kind_is_refused_by_what_it_lacks(kind):
    table, protocol = KINDS[kind]
    with pytest.raises(UsageError, match=f"{kind} 'os:sep' is not valid: missing "):
        resolve(table, "os:sep", kind, protocol)
