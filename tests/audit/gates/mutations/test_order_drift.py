"""Where order is drift, and where it is not."""

import pytest

from skilljuror.audit.gates.mutations.catalog import MUTATIONS
from skilljuror.audit.gates.mutations.sites import MutationTarget
from tests.support.knowledge_bundles import skill


@pytest.mark.parametrize(
    ("title", "planted"),
    [("Merge workflow", 1), ("Draft-Sign workflow", 1), ("Draft, Sign, Merge workflow", 0)],
)
def test_sections_have_an_order_where_their_title_says_so_itself(title, planted):
    sections = ["Draft", "Sign"] + ["Merge workflow"] * title.startswith("Draft, ")
    page = "".join(f"## {name}\n\nText of {name}.\n\n" for name in sections)
    target = MutationTarget(skill(f"# {title}\n\n{page}"))
    assert len(list(MUTATIONS["swap-sections"].sites(target))) == planted
