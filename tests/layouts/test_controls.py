"""Controls: what they leave out on purpose, and what they keep."""

import pytest

from skilljuror.audit.audit import DECLARED, audit, is_declared, waive_declared
from skilljuror.audit.plans.render import render
from skilljuror.audit.plans.verify import verify, verify_control
from skilljuror.base.errors import resolve
from skilljuror.base.skill import Blob, is_licence
from skilljuror.base.texts import estimate
from skilljuror.layouts import TRANSFORMS
from skilljuror.layouts.build.build import build_source, declared_findings
from skilljuror.layouts.controls import (
    ENDS,
    HERDS,
    PLACES,
    REST,
    RESTS,
    SUBJECTS,
    sentences,
)
from skilljuror.layouts.verify import verify_build
from skilljuror.skill.bundles import make_bundle
from skilljuror.skill.markdown import frontmatter_end
from tests.support.bundle_corpus import TRAPS, bundle, write
from tests.support.every import every
from tests.support.laid_out import CONTROLS, built, laid_out

PAIRS = [(name, variant) for name in TRAPS for variant in CONTROLS]


def root(made):
    return made.files[made.skills[0].path].text


def test_every_control_of_the_registry_is_named_and_declares_what_it_breaks():
    found = [name for name in TRANSFORMS if declared_findings(resolve(TRANSFORMS, name, "variant"))]
    assert sorted(found) == sorted(CONTROLS)
    assert all(name.startswith("placebo-") for name in found)


@pytest.mark.slow
@every("name, variant", PAIRS)
def test_the_plan_tells_the_whole_difference(name, variant):
    assert verify_control(*built(name, variant)) == ()


@every("variant", CONTROLS)
def test_a_control_is_never_proved_to_carry_its_parent(variant):
    assert verify(*built("report", variant)) != ()


@every("variant", CONTROLS)
def test_a_control_that_is_not_as_planned_is_noticed(variant):
    plan, parent, made = built("report", variant)
    path = made.skills[0].path
    blob = made.files[path]
    changed = {**made.files, path: type(blob)(blob.data + b"More.\n", blob.executable)}
    assert verify_control(plan, parent, make_bundle("report", changed)) != ()


def undeclared(name, variant):
    _, parent, made = built(name, variant)
    transform = resolve(TRANSFORMS, variant, "variant")
    judged = audit(parent, made, transform.stands_for, "strict")
    declared = declared_findings(transform)
    return {one.rule for one in judged.own if not is_declared(one.rule, declared)}


@pytest.mark.slow
@every("name, variant", PAIRS)
def test_only_declared_findings_come_up_anywhere(name, variant):
    assert undeclared(name, variant) == set()


@every("variant", CONTROLS)
def test_only_declared_findings_come_up(variant):
    assert undeclared("report", variant) == set()


@every("variant", CONTROLS)
def test_declared_findings_stand_and_decide_nothing(variant):
    _, parent, made = built("report", variant)
    transform = resolve(TRANSFORMS, variant, "variant")
    judged = audit(parent, made, transform.stands_for, "strict")
    waived = waive_declared(judged, declared_findings(transform))
    assert judged.verdict == "fail"
    assert waived.verdict == "pass"
    assert [one.id for one in waived.findings] == [one.id for one in judged.findings]
    assert {one.waived for one in waived.own} == {DECLARED}


@pytest.mark.slow
@every("name", TRAPS)
def test_the_irrelevant_page_is_as_long_and_says_nothing_of_its_parent(name):
    _, parent, made = built(name, "placebo-irrelevant")
    before, after = root(parent), root(made)
    skip = frontmatter_end(before.split("\n"))
    assert after.split("\n")[:skip] == before.split("\n")[:skip]
    assert after.count("\n") == before.count("\n")
    assert abs(estimate(after) - estimate(before)) <= 12 + 0.05 * estimate(before)
    said = {line for line in before.split("\n")[skip:] if len(line.split()) > 2}
    assert not said & set(after.split("\n")[skip:])
    assert [one for one in made.files if not is_licence(one)] == [made.skills[0].path]


def endings():
    """The words that a title or a sentence of the irrelevant page may end in: none is a function word."""
    texts = (*SUBJECTS, *PLACES, *ENDS, *HERDS, *REST, *RESTS)
    return {text.split()[-1] for text in texts}


@every("name", TRAPS)
def test_the_irrelevant_page_reads_like_text(name):
    """A heading is a title, any other line whole sentences, or one noun where there is no room."""
    text = root(built(name, "placebo-irrelevant")[2])
    lines = text.split("\n")[frontmatter_end(text.split("\n")) :]
    for line in filter(str.strip, lines):
        said = line.lstrip("#- ")
        if line.startswith("#") or " " not in said:
            assert not said.endswith(".")
        else:
            assert said.endswith(".")
            said = said.removesuffix(".")
        assert said[0].isupper()
        assert said.split()[-1].lower() in endings()


def test_terms_of_use_stay_beside_the_irrelevant_page():
    head = b"---\nname: s\ndescription: d\n---\n# S\n\nFill the form.\n"
    files = {"s/SKILL.md": head, "s/LICENSE.txt": b"Free for all.\n", "s/rates.csv": b"a,b\n1,2\n"}
    blob = type(bundle("tiny").files["tiny/SKILL.md"])
    source = make_bundle("s", {path: blob(data) for path, data in files.items()})
    plan = resolve(TRANSFORMS, "placebo-irrelevant", "variant")().plan(source, {})
    made = make_bundle("s", render(plan, source))
    assert sorted(made.files) == ["s/LICENSE.txt", "s/SKILL.md"]
    assert verify_control(plan, source, made) == ()


@pytest.mark.slow
@every("name", TRAPS)
def test_the_unrouted_root_names_no_file_and_keeps_every_file(name):
    _, parent, made = built(name, "placebo-unrouted")
    path = made.skills[0].path
    others = [one for one in made.files if one != path]
    text = root(made)
    body = "\n".join(text.split("\n")[frontmatter_end(text.split("\n")) :])
    assert {one: made.files[one] for one in others} == {
        one: blob for one, blob in parent.files.items() if one != path
    }
    folder = path.rpartition("/")[0]
    for one in others:
        shown = one.removeprefix(f"{folder}/")
        assert shown not in body
        assert "." not in shown or shown.rpartition("/")[2] not in body.split()


def test_text_that_names_no_file_stays_word_for_word():
    text = root(built("report", "placebo-unrouted")[2])
    assert "- NEVER round below 0.01.\n- Stop above 10 MB.\n" in text
    assert "Supporting files" not in text


def test_pointers_to_what_left_go_too():
    trouble = (
        "## If a glaze runs\n\n" + "The shop by the river has sold the same three whites. " * 60
    )
    head = "---\nname: kiln\ndescription: How a kiln is fired.\n---\n\n# Kiln\n\nMix it.\n\n"
    source = make_bundle("kiln", {"kiln/SKILL.md": Blob((head + trouble).encode())})
    made = laid_out(source, "baseline", "pd")
    assert "\n→ If a glaze runs: read " in root(made["pd"])
    plan = resolve(TRANSFORMS, "placebo-unrouted", "variant")().plan(made["pd"], {})
    assert "→" not in (render(plan, made["pd"])["kiln/SKILL.md"].text or "")


def unrouted(files):
    """The root that is left of a skill in the folder `s`."""
    blob = type(bundle("tiny").files["tiny/SKILL.md"])
    source = make_bundle("s", {path: blob(data) for path, data in files.items()})
    plan = resolve(TRANSFORMS, "placebo-unrouted", "variant")().plan(source, {})
    return render(plan, source)["s/SKILL.md"].text or ""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", ["/", "a/", "../", "@/", "~", "{"])
def test_a_long_line_that_names_a_file_at_its_end_is_read_soon(unit):
    body = unit * (200_000 // len(unit))
    head = "---\nname: s\ndescription: d\n---\n# S\n\n"
    text = unrouted({
        "s/SKILL.md": f"{head}{body} form.md\n".encode(), "s/references/form.md": b"# Form\n",
    })  # fmt: skip
    assert text.endswith(f"{body} a supporting file\n")


def test_a_mention_a_link_and_a_command_lose_the_name():
    files = {
        "s/SKILL.md": b"---\nname: s\ndescription: d\n---\n# S\n\nSee [the form](references/form.md),"
        b" ./references/form.md or `Makefile`.\n\n```sh\npython3 scripts/run.py --fast\n```\n",
        "s/references/form.md": b"# Form\n\nText.\n",
        "s/scripts/run.py": b"print(1)\n",
        "s/Makefile": b"all:\n\ttrue\n",
    }
    text = unrouted(files)
    assert "See [the form](#), a supporting file or `a supporting file`." in text
    assert "python3 a supporting file --fast" in text


def test_no_two_sentences_of_a_long_page_are_alike():
    told = sentences()
    first = [next(told) for _ in range(17_017)]
    assert len(set(first)) == len(first)


def test_a_build_with_controls_is_accepted_and_proved_again(tmp_path):
    source = write("report", tmp_path) / "csv-report"
    record = build_source(source, tmp_path / "out", variants=CONTROLS)
    told = {one.variant: one for one in record.variants}
    assert set(told) == {*CONTROLS}
    assert {one.verdict for one in record.variants} == {"pass"}
    assert "layout.pd-unnamed" in told["placebo-unrouted"].expected_findings
    assert verify_build(tmp_path / "out").proved
    page = tmp_path / "out" / "variants" / "placebo-irrelevant" / "csv-report" / "SKILL.md"
    page.write_text(page.read_text().replace("lighthouse", "windmill"))
    assert any(
        "placebo-irrelevant" in problem for problem in verify_build(tmp_path / "out").problems
    )
