"""The table of real sources in docs/construction.md: its command, and whether it is stale."""

from pathlib import Path

import pytest

from benchmarks import sources
from tests.support.places import ROOT


@pytest.mark.slow
def test_the_table_of_the_packaged_examples(capsys):
    folder = ROOT / "examples" / "skills" / "log-triage"
    assert sources.main([str(folder)]) == 0
    table, _, rest = capsys.readouterr().out.partition("\n\n")
    (line,) = table.splitlines()[2:]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    count = len([*folder.glob("*/SKILL.md")])
    assert cells[2] == f"{count} of {count}"
    assert all(sum(map(int, cell.split(" / "))) == count for cell in cells[3:])
    assert f"measured at rules {sources.rules_digest()}" in rest


@pytest.mark.slow
def test_a_source_that_does_not_pass_is_named_and_a_refused_one_is_no_verdict(tmp_path, capsys):
    for name, body in (("tiny", "Say hello.\n"), ("odd", "Say hello.\n")):
        (tmp_path / "task" / name).mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: Say hello.\n---\n# Hello\n\n{body}"
        (tmp_path / "task" / name / "SKILL.md").write_text(text, encoding="utf-8")
    (tmp_path / "task" / "tiny" / "instruction.md").write_text("Greet.", encoding="utf-8")
    (tmp_path / "task" / "odd" / "link").symlink_to("SKILL.md")
    assert sources.main([str(tmp_path / "task")]) == 0
    out = capsys.readouterr().out
    assert "| 1 of 2 |" in out
    assert "odd: 'link' is a symbolic link" in out


@pytest.mark.slow
def test_a_table_of_other_rules_is_stale(tmp_path: Path, monkeypatch, capsys):
    page = tmp_path / "construction.md"
    monkeypatch.setattr(sources, "PAGE", page)
    for digest, told in ((sources.rules_digest(), 0), ("0" * 12, 1)):
        page.write_text(f"2026-11-23, measured at rules {digest}.\n", encoding="utf-8")
        assert (sources.check(page) is not None) == told
    assert "is stale" in (sources.check(page) or "")
    page.write_text("No table.\n", encoding="utf-8")
    assert "measured at rules" in (sources.check(page) or "")


def test_the_digest_covers_the_rules_alone(tmp_path: Path):
    for name in sources.RULES:
        place = tmp_path / name / "a.py" if not Path(name).suffix else tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("a = 1", encoding="utf-8")
    first = sources.rules_digest(tmp_path)
    (tmp_path / "skilljuror/other.py").write_text("a = 1", encoding="utf-8")
    assert sources.rules_digest(tmp_path) == first
    (tmp_path / "skilljuror/audit/a.py").write_text("a = 2", encoding="utf-8")
    assert sources.rules_digest(tmp_path) != first
    second = sources.rules_digest(tmp_path)
    reworded = '"""A docstring."""\na = 2  # a comment\n'
    (tmp_path / "skilljuror/audit/a.py").write_text(reworded, encoding="utf-8")
    assert sources.rules_digest(tmp_path) == second
