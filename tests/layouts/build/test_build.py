"""A build: whole or not at all, proved from disk, the same on every machine."""

from pathlib import Path

import pytest

from skilljuror.base.errors import BundleError, SkilljurorError
from skilljuror.layouts.build.build import build_many, build_source, load_build
from skilljuror.layouts.verify import verify_build

SKILL = """---
name: csv-report
description: Summarise a CSV of sales. Use when a report is asked for.
---
# CSV report

1. Read `references/format.md` for the output format.
2. Run `python3 scripts/helper.py sales.csv`.

## Limits

Never round below 0.01.
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "csv-report"
    (folder / "scripts").mkdir(parents=True)
    (folder / "references").mkdir()
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "references" / "format.md").write_text("# Format\n\n`total` is a number.\n")
    (folder / "scripts" / "helper.py").write_bytes(b"print(1)\r\nprint(2)")
    return folder


def test_every_variant_is_written_and_proved(source, tmp_path):
    record = build_source(source, tmp_path / "out")
    assert [one.variant for one in record.variants] == ["flat-files", "origin", "pd"]
    assert load_build(tmp_path / "out") == record
    assert verify_build(tmp_path / "out").proved


def test_scripts_come_back_byte_for_byte(source, tmp_path):
    build_source(source, tmp_path / "out")
    made = tmp_path / "out" / "variants" / "pd" / "csv-report" / "scripts" / "helper.py"
    assert made.read_bytes() == b"print(1)\r\nprint(2)"


def test_a_skill_too_small_to_gain_says_so_and_one_with_a_long_file_does_not(source, tmp_path):
    worth = [one.pd_worth for one in build_source(source, tmp_path / "small").variants]
    assert worth == [None, None, "small"]
    (source / "references" / "format.md").write_text("# Format\n\n" + "A row has a date.\n\n" * 90)
    worth = [one.pd_worth for one in build_source(source, tmp_path / "large").variants]
    assert worth == [None, None, None]


def test_a_change_on_disk_is_noticed(source, tmp_path):
    build_source(source, tmp_path / "out", variants=("baseline",))
    flat = tmp_path / "out" / "variants" / "baseline" / "csv-report" / "SKILL.md"
    flat.write_text(flat.read_text().replace("0.01", "0.1"))
    assert any("baseline" in problem for problem in verify_build(tmp_path / "out").problems)


def test_a_refused_source_writes_nothing(tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "SKILL.md").symlink_to("/etc/hosts")
    with pytest.raises(BundleError, match="symbolic link"):
        build_source(tmp_path / "bad", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_one_failing_source_does_not_stop_the_rest(source, tmp_path):
    (tmp_path / "empty").mkdir()
    sources = [tmp_path / "empty", source]
    done = dict(build_many(sources, tmp_path / "out"))
    assert isinstance(done["empty"], SkilljurorError)
    assert verify_build(tmp_path / "out" / "csv-report").proved


def test_what_a_variant_is_made_from_is_proved_and_not_kept(source, tmp_path):
    record = build_source(source, tmp_path / "out", variants=("pd",))
    assert [one.variant for one in record.variants] == ["pd"]
    assert sorted(record.plans) == ["baseline", "pd"]
    assert [one.name for one in (tmp_path / "out" / "variants").iterdir()] == ["pd"]
    assert verify_build(tmp_path / "out").proved


def test_a_variant_with_the_files_of_another_is_named_as_such(source, tmp_path):
    record = build_source(source, tmp_path / "out")
    same = {one.variant: one.same_as for one in record.variants}
    assert same == {"origin": None, "flat-files": None, "pd": "origin"}


def test_a_layout_of_a_refused_parent_is_refused_for_the_same_loss(tmp_path):
    head = "---\nname: {0}\ndescription: Counts tides. Use when tides are counted.\n---\n# {0}\n\n"
    for name, line in (("a", "Count them."), ("b", "Tides: !`sh ${CLAUDE_SKILL_DIR}/n.sh`")):
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text(f"{head.format(name)}{line}\n")
    (tmp_path / "skills" / "b" / "n.sh").write_text("ls\n")
    names = ("origin-flat", "baseline", "flat-files", "pd")
    record = build_source(tmp_path / "skills", tmp_path / "out", variants=names)
    verdicts = {one.variant: one.verdict for one in record.variants}
    assert verdicts.pop("origin-flat") == "pass"
    assert verdicts == dict.fromkeys(names[1:], "fail")
