"""Links of a flat page follow what they led to."""

from skilljuror.base.skill import Blob
from skilljuror.skill.bundles import make_bundle
from tests.support.bundle_corpus import head
from tests.support.laid_out import laid_out


def test_a_link_to_data_leads_to_where_the_union_keeps_it():
    alpha = "# Alpha\n\nSee [the schema](schemas/a.xsd) and [the other's](../beta/b.xsd).\n"
    files = {
        "alpha/SKILL.md": head("alpha", "Use for a.") + alpha,
        "alpha/schemas/a.xsd": "<a/>\n",
        "beta/SKILL.md": head("beta", "Use for b.") + "# Beta\n\nSee [its own](b.xsd).\n",
        "beta/b.xsd": "<b/>\n",
    }
    source = make_bundle("pair", {path: Blob(text.encode()) for path, text in files.items()})
    page = laid_out(source, "baseline")["baseline"].files["pair/SKILL.md"].text or ""
    assert "See [the schema](alpha/schemas/a.xsd) and [the other's](beta/b.xsd)." in page
    assert "See [its own](beta/b.xsd)." in page
