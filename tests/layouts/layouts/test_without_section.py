"""without:TITLE: one section says something irrelevant of the same length, and nothing else changes."""

import re

import pytest

from skilljuror.base.errors import TransformError
from skilljuror.base.texts import count
from skilljuror.layouts.build.build import build_source, load_transform
from skilljuror.layouts.build.scopes import flat_page
from skilljuror.layouts.controls import titles_of
from skilljuror.layouts.verify import verify_build
from skilljuror.skill.bundles import load_bundle
from tests.support.places import ROOT

LOG_TRIAGE = ROOT / "examples/skills/log-triage"
PAGE = """---
name: forms
description: Fill PDF forms. Use when a form must be filled.
---
# PDF forms

Fill forms without losing a value.

## Fill

### Checks

Compare every value with the list of fields, twice. {long}

## Print

### Checks

Print one page and hold it against the light. {long}
"""
LONG = "Rows beyond the table are printed on a second copy of that page. " * 12


@pytest.fixture
def forms(tmp_path):
    (tmp_path / "forms").mkdir()
    (tmp_path / "forms/SKILL.md").write_text(PAGE.format(long=LONG))
    return tmp_path / "forms"


def pages(build, variant):
    (page,) = (build / "variants").glob(f"{variant}/*/SKILL.md")
    return page.read_text().splitlines(), (build / f"variants/baseline/{page.parent.name}/SKILL.md")


@pytest.mark.parametrize(
    "title", ["Severity", "incident-triage/references/redaction.md", "Incident triage > Warnings"]
)
def test_only_the_lines_of_the_section_change_and_their_length_does_not(title, tmp_path):
    name = f"without:{title}"
    record = build_source(LOG_TRIAGE, tmp_path / "out", variants=("baseline", name))
    variant = load_transform(name).variant
    assert {one.variant: one.verdict for one in record.variants}[variant] == "pass"
    new, old = pages(tmp_path / "out", variant)
    before = old.read_text().splitlines()
    changed = [n for n, (a, b) in enumerate(zip(before, new, strict=True)) if a != b]
    start, end = changed[0], changed[-1] + 1
    assert before[start].lstrip("#").strip() in {
        title.rpartition(" > ")[2], f"Reference content from `{title}`",
    }  # fmt: skip
    blank = [not line.strip() for line in before[start:end]]
    assert blank == [not line.strip() for line in new[start:end]]
    kept, filler = (count("\n".join(lines[start:end])) for lines in (before, new))
    assert 0.8 < filler / kept < 1.25
    words = {word for line in before[start:end] for word in line.split() if len(word) > 9}
    assert not words & {word for line in new[start:end] for word in line.split()}
    assert verify_build(tmp_path / "out").problems == ()


def test_two_sections_of_one_heading_are_told_apart_by_the_one_above(forms, tmp_path):
    with pytest.raises(TransformError, match="2 sections of the flat page with this heading"):
        build_source(forms, tmp_path / "two", variants=("without:Checks",))
    build_source(forms, tmp_path / "out", variants=("without:print > checks",))
    new, _ = pages(tmp_path / "out", "without-print-checks")
    assert any("Compare every value" in line for line in new)
    assert not any("hold it against the light" in line for line in new)


def test_an_unknown_section_names_the_known_ones(forms, tmp_path):
    with pytest.raises(TransformError) as error:
        build_source(forms, tmp_path / "out", variants=("without:Colours",))
    assert "no section" in str(error.value)
    assert "'Fill > Checks', 'Print > Checks'" in str(error.value)


def test_sections_are_parts_of_the_page_that_are_worth_an_arm():
    titles = titles_of(flat_page(load_bundle(LOG_TRIAGE, inspect=False)))
    assert "Severity" in titles
    assert "incident-triage/references/redaction.md" in titles
    assert len(titles) == len(set(titles)) > 5


def test_two_headings_never_share_a_name():
    names = [
        load_transform(f"without:{title}").variant
        for title in ("C++", "C#", "Überblick", "概要", "Severity", "a/b.md", "x" * 61, "x" * 62)
    ]
    assert len(set(names)) == len(names)
    assert names[4:6] == ["without-severity", "without-a-b-md"]
    assert all(re.fullmatch("[a-z0-9][a-z0-9_-]*", name) for name in names)
