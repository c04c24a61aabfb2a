"""Every registered transform on every bundle of the synthetic corpus."""

import pytest

from skilljuror.audit.audit import audit
from skilljuror.audit.plans.verify import verify
from skilljuror.base.skill import Bundle, is_root_name, resource_class
from skilljuror.layouts import TRANSFORMS
from skilljuror.skill.bundles import make_bundle
from skilljuror.skill.markdown import parse_frontmatter
from tests.support.bundle_corpus import TRAPS, bundle
from tests.support.every import every
from tests.support.laid_out import CONTROLS, built, plan_again

PAIRS = [(name, variant) for name in TRAPS for variant in TRANSFORMS if variant not in CONTROLS]


@pytest.mark.slow
@every(
    "name, variant",
    PAIRS,
    "A variant moves text and loses none; see docs/add-a-plugin.md. Controls go to CONTROLS in tests/support/laid_out.py.",
)
def test_the_variant_is_proved(name, variant):
    assert verify(*built(name, variant)) == ()


@pytest.mark.slow
@every("name, variant", PAIRS)
def test_the_order_of_files_does_not_matter(name, variant):
    plan, parent, _ = built(name, variant)
    turned = Bundle(parent.name, dict(reversed(parent.files.items())), parent.skills)
    assert plan_again(name, variant, make_bundle(name, turned.files)) == plan


@every("name", TRAPS)
def test_baseline_and_pd_share_name_and_description(name):
    heads = [
        parse_frontmatter((made.files[made.skills[0].path].text or "").split("\n"))[0]
        for made in (built(name, "baseline")[2], built(name, "pd")[2])
    ]
    assert heads[0] == heads[1]


@every("name", TRAPS)
def test_a_baseline_is_one_root_and_data(name):
    made = built(name, "baseline")[2]
    others = {path for path in made.files if path != made.skills[0].path}
    assert len(made.skills) == 1
    assert all(resource_class(path, made.files[path]) == "data" for path in others)


@pytest.mark.slow
@every("name, variant", PAIRS)
def test_no_skill_inside_a_skill_is_made(name, variant):
    made, source = built(name, variant)[2], built(name, "origin")[2]
    roots = {skill.path for skill in made.skills}
    nested = {path for path in made.files if is_root_name(path)} - roots
    assert nested <= set(source.files) - {skill.path for skill in source.skills}


def has_support(made: Bundle) -> bool:
    roots = {skill.path for skill in made.skills}
    others = ((path, blob) for path, blob in made.files.items() if path not in roots)
    return any(
        resource_class(path, blob) == "support" for path, blob in others if blob.data.strip()
    )


@pytest.mark.slow
@every("name, variant", PAIRS)
def test_the_gates_pass_it_under_the_strict_policy(name, variant):
    made = built(name, variant)[2]
    judged = audit(bundle(name), made, variant, "strict")
    nothing = variant == "pd" and not has_support(made)
    expected = {"layout.pd-support"} if nothing else set()
    found = {finding.rule for finding in judged.own if finding.severity != "info"}
    long = found & {"layout.pd-root-size"}  # a process stays whole, however long it is
    assert found - long == expected
    assert judged.verdict == ("review" if nothing or long else "pass")
