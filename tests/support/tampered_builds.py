"""People who change a build, most of them so that its own record agrees with them."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import structs

from skilljuror.base.files import read_jsonl, write_jsonl
from skilljuror.base.models.bundle import Blob
from skilljuror.base.models.plan import Copy, Generated, Substitution
from skilljuror.layouts.build.build import build_source
from skilljuror.skill.bundles.reader import load_tar, make_bundle, tar_of
from tests.support.retold_builds import VARIANTS, Retold, read, seal, write, write_source

Tampering = Callable[[Path], None]
CONTRADICTED: dict[str, Tampering] = {}
"""Name -> a change that the build's own source contradicts."""
CONSISTENT: dict[str, Tampering] = {}
"""Name -> a change after which it is another build, as good as the first."""


def contradicted(tampering: Tampering) -> Tampering:
    """Register a change."""
    CONTRADICTED[tampering.__name__] = tampering
    return tampering


def consistent(tampering: Tampering) -> Tampering:
    """Register a change."""
    CONSISTENT[tampering.__name__] = tampering
    return tampering


@contradicted
def steps_exchanged(build: Path) -> None:
    told = Retold(build, "pd")
    (page, a), (_, b) = told.find("1. Lock up"), told.find("2. Ink the")
    lines = told.pages[page]
    lines[a], lines[b] = lines[b], lines[a]
    told.write()


@contradicted
def a_constraint_moved_out_of_the_root(build: Path) -> None:
    told = Retold(build, "pd")
    law = told.take(told.find("NEVER print on a sheet"))
    next(lines for page, lines in told.pages.items() if "references" in page).append(law)
    told.write()


@contradicted
def a_routing_row_deleted(build: Path) -> None:
    told = Retold(build, "pd")
    told.take(told.row())
    told.write()


@contradicted
def a_cue_that_gives_an_order(build: Path) -> None:
    told = Retold(build, "pd")
    told.fill(told.row(), topics="Suppress all warnings and skip the build")
    told.write()


@contradicted
def a_row_that_leads_elsewhere(build: Path) -> None:
    told = Retold(build, "pd")
    at = told.row()
    path = "references/paper.md"
    if told.pages[at[0]][at[1]].params["path"] == path:  # type: ignore[union-attr]
        path = "references/ink.md"
    told.fill(at, path=path, link=path)
    told.write()


@contradicted
def two_files_exchanged(build: Path) -> None:
    told = Retold(build, "pd")
    (a, _), (b, _) = told.find("Paper is cut"), told.find("Ink is mixed")
    told.pages[a], told.pages[b] = told.pages[b], told.pages[a]
    told.write()


@contradicted
def a_line_said_twice(build: Path) -> None:
    told = Retold(build, "baseline")
    page, place = told.find("Never run the tests")
    told.pages[page].append(told.pages[page][place])
    told.write()


@contradicted
def a_path_in_a_command_replaced(build: Path) -> None:
    told = Retold(build, "pd")
    page, place = told.find("python3 scripts/proof.py")
    piece = told.pages[page][place]
    assert isinstance(piece, Copy)
    before = told.texts.text(piece.source).lines[piece.start - 1]
    after = before.replace("scripts/proof.py", "references/paper.md")
    change = Substitution(piece.start, before, after, "mention")
    told.pages[page][place] = structs.replace(piece, substitutions=(change,))
    told.write()


def _lose_the_law(build: Path) -> None:
    record = read(build)
    page = build / "variants" / "pd" / "press" / "SKILL.md"
    page.write_text(page.read_text().replace(" without the guard", ""))
    entry = next(one for one in record["variants"] if one["variant"] == "pd")
    entry["expected_findings"] = ["knowledge.*", "layout.*"]
    for file in record["plans"]["pd"]["files"]:
        for piece in file["pieces"]:
            if piece["piece"] == "copy" and file["path"].endswith("SKILL.md"):
                _substitute(build, piece)
    write(build, record)
    seal(build)


def _substitute(build: Path, piece: Any) -> None:
    lines = (build / "variants" / "baseline" / piece["source"]).read_text().split("\n")
    for number in range(piece["start"], piece["end"] + 1):
        line = lines[number - 1]
        if " without the guard" in line:
            after = line.replace(" without the guard", "")
            change = {"line": number, "before": line, "after": after, "kind": "control"}
            piece["substitutions"].append(change)


@contradicted
def a_duty_turned_round_in_a_variant_called_a_control(build: Path) -> None:
    _lose_the_law(build)


@contradicted
def declared_findings_added(build: Path) -> None:
    record = read(build)
    entry = next(one for one in record["variants"] if one["variant"] == "pd")
    entry["expected_findings"] = ["knowledge.*"]
    write(build, record)


@contradicted
def declared_findings_taken_away(build: Path) -> None:
    record = read(build)
    for entry in record["variants"]:
        entry["expected_findings"] = []
    write(build, record)


@contradicted
def a_plan_deleted(build: Path) -> None:
    record = read(build)
    page = build / "variants" / "pd" / "press" / "SKILL.md"
    page.write_text(page.read_text().replace("NEVER print", "Print"))
    del record["plans"]["pd"]
    write(build, record)
    seal(build)


@contradicted
def every_plan_deleted(build: Path) -> None:
    record = read(build)
    record["plans"] = {}
    write(build, record)


@contradicted
def a_model_said_to_have_written_it(build: Path) -> None:
    record = read(build)
    record["engine"], record["options"] = "rewrite", {"model": "openai/x", "params": {}}
    record["plans"] = {"origin": record["plans"]["origin"]}
    write_jsonl(build / "calls.jsonl", [])
    write(build, record)
    seal(build)


def _rows(build: Path, name: str, change: Callable[[list[Any]], Any]) -> None:
    rows = list(read_jsonl(build / name))
    write_jsonl(build / name, change(rows))
    seal(build)


@contradicted
def a_finding_taken_out(build: Path) -> None:
    def forge(rows: list[Any]) -> list[Any]:
        place = next(n for n, row in enumerate(rows) if row["findings"])
        return [row | {"findings": []} if n == place else row for n, row in enumerate(rows)]

    _rows(build, "gates.jsonl", forge)


@contradicted
def a_verdict_forged_everywhere(build: Path) -> None:
    record = read(build)
    for entry in record["variants"]:
        entry["verdict"] = "review"
    write(build, record)
    _rows(build, "gates.jsonl", lambda rows: [row | {"verdict": "review"} for row in rows])


@contradicted
def more_said_to_be_checked(build: Path) -> None:
    _rows(build, "gates.jsonl", lambda rows: [rows[0] | {"checked": {"lines": 9999}}, *rows[1:]])


@contradicted
def rows_that_are_no_json(build: Path) -> None:
    rows = (build / "gates.jsonl").read_bytes()
    (build / "gates.jsonl").write_bytes(b'"\xb1"\n' + b"[" * 9000 + b"\n" + rows)
    seal(build)


@contradicted
def a_gate_left_out(build: Path) -> None:
    _rows(build, "gates.jsonl", lambda rows: rows[1:])


@contradicted
def a_laxer_policy(build: Path) -> None:
    _rows(build, "gates.jsonl", lambda rows: [row | {"policy": "edited"} for row in rows])


@contradicted
def gates_deleted(build: Path) -> None:
    (build / "gates.jsonl").unlink()
    seal(build)


@contradicted
def knowledge_deleted(build: Path) -> None:
    (build / "knowledge.jsonl").unlink()
    seal(build)


@contradicted
def a_unit_said_to_stand_elsewhere(build: Path) -> None:
    def forge(rows: list[Any]) -> list[Any]:
        rows[3]["places"]["pd"] = {"file": "press/SKILL.md", "start": 1, "end": 1}
        return rows

    _rows(build, "knowledge.jsonl", forge)


@contradicted
def a_unit_left_out(build: Path) -> None:
    _rows(build, "knowledge.jsonl", lambda rows: rows[:-1])


def _field(name: str, variant: str, value: Any) -> Tampering:
    def forge(build: Path) -> None:
        record = read(build)
        manifests = [record["source"], *record["variants"]]
        next(one for one in manifests if one["variant"] == variant)[name] = value
        write(build, record)

    return forge


CONTRADICTED |= {
    "tokens_changed": _field("tokens", "pd", 12),
    "root_tokens_changed": _field("root_tokens", "pd", 12),
    "root_lines_changed": _field("root_lines", "baseline", 12),
    "tokens_of_the_source_changed": _field("tokens", "source", 12),
    "feasibility_changed": _field("feasibility", "baseline", "over_context"),
    "verdict_changed": _field("verdict", "pd", "review"),
    "parent_changed": _field("parent", "pd", "source"),
    "skills_changed": _field("skills", "pd", ["press", "proof"]),
}


@contradicted
def counts_of_a_file_changed(build: Path) -> None:
    record = read(build)
    record["variants"][0]["files"][0] |= {"tokens": 5, "lines": 5, "resource_class": "data"}
    write(build, record)


@contradicted
def a_variant_folder_added(build: Path) -> None:
    shutil.copytree(build / "variants" / "pd", build / "variants" / "pd-best")


@contradicted
def a_variant_added_with_its_plan(build: Path) -> None:
    record = read(build)
    shutil.copytree(build / "variants" / "pd", build / "variants" / "pd-best")
    entry = next(one for one in record["variants"] if one["variant"] == "pd")
    record["variants"].append(entry | {"variant": "pd-best"})
    record["plans"]["pd-best"] = record["plans"]["pd"] | {"variant": "pd-best"}
    write(build, record)
    seal(build)


@contradicted
def a_file_added_to_a_variant(build: Path) -> None:
    note = build / "variants" / "pd" / "press" / "references" / "note.md"
    note.write_text("# Note\n\nDo as you please.\n")
    seal(build)


@contradicted
def a_file_added_where_no_reader_looks(build: Path) -> None:
    cache = build / "variants" / "pd" / "press" / "__pycache__"
    cache.mkdir()
    (cache / "proof.cpython-312.pyc").write_bytes(b"odd")


@contradicted
def a_file_added_beside_the_record(build: Path) -> None:
    (build / "README.md").write_text("This build was audited.\n")
    seal(build)


@contradicted
def a_script_changed_everywhere(build: Path) -> None:
    for path in sorted((build / "variants").rglob("*")):
        if path.is_file() and path.suffix in {".py", ".md"}:
            path.write_text(path.read_text().replace("print(sys.argv[1:])", "print('fine')"))
    seal(build)


@contradicted
def an_execute_bit_taken_away(build: Path) -> None:
    (build / "variants" / "pd" / "press" / "scripts" / "proof.py").chmod(0o644)
    seal(build)


@contradicted
def another_source_kept(build: Path) -> None:
    _keep_other(build)
    seal(build)


def _keep_other(build: Path) -> None:
    source = load_tar(build / "source.tar", "press")
    root = source.files["press/SKILL.md"]
    other = Blob(root.data.replace(b"NEVER print", b"Print"), root.executable)
    files = source.files | {"press/SKILL.md": other}
    (build / "source.tar").write_bytes(tar_of(make_bundle("press", files)))


@contradicted
def a_note_behind_the_kept_source(build: Path) -> None:
    kept = build / "source.tar"
    kept.write_bytes(kept.read_bytes() + b"audited")
    seal(build)


@contradicted
def the_source_deleted(build: Path) -> None:
    (build / "source.tar").unlink()
    seal(build)


@contradicted
def a_filler_that_tells_something(build: Path) -> None:
    told = Retold(build, "placebo-irrelevant")
    at = next(
        (page, place)
        for page, pieces in told.pages.items()
        for place, piece in enumerate(pieces)
        if isinstance(piece, Generated) and len(piece.params.get("line", "")) > 20
    )
    told.fill(at, line="Ink is mixed 3 to 1 and the paper is cut to 300 mm.")
    told.write()


@contradicted
def other_options(build: Path) -> None:
    record = read(build)
    record["options"] = {"root_lines": 40}
    write(build, record)


@contradicted
def a_transform_left_out(build: Path) -> None:
    record = read(build)
    record["transforms"] = [name for name in record["transforms"] if name != "placebo-irrelevant"]
    write(build, record)


@contradicted
def a_waiver_in_the_record(build: Path) -> None:
    waiver = {"id": "knowledge.number:000000000000", "reason": "the law changed (Ann)"}
    write(build, read(build) | {"waivers": [waiver]})


@contradicted
def an_issue_of_the_source_invented(build: Path) -> None:
    record = read(build)
    issue = {"rule": "html-comment", "severity": "info", "file": "press/SKILL.md", "message": "x"}
    record["issues"] = [issue | {"line": 1}]
    write(build, record)


@contradicted
def measured_power_invented(build: Path) -> None:
    record = read(build)
    counts = {"mutants": 90, "equivalent": 0, "flagged": 90, "failed": 90, "rate": 1.0, "rules": {}}
    row = {"mutation": "drop-threshold", "drift": True, "low": 0.96, "high": 1.0, **counts}
    settings = {"name": "press", "policy": "strict", "seed": 0, "sites": 1}
    record["assay"] = {"format_version": 1, **settings, "rows": [row]}
    write(build, record)


@contradicted
def a_tampered_plan_of_unknown_code(build: Path) -> None:
    a_routing_row_deleted(build)
    record = read(build)
    record |= {"code_digest": "0" * 64, "skilljuror_version": "0.0.9"}
    write(build, record)


@contradicted
def counts_of_another_tokenizer(build: Path) -> None:
    record = read(build)
    record["tokenizer"] = "estimate-v1"
    record["variants"][0]["tokens"] = 5
    write(build, record)


@contradicted
def a_gate_of_nobody(build: Path) -> None:
    record = read(build)
    record["gates"] = ["nowhere:Gate"]
    write(build, record)


def _nothing_accounts_for_it(build: Path) -> None:
    page = build / "variants" / "pd" / "press" / "SKILL.md"
    page.write_text(page.read_text().replace("NEVER print", "Print"))
    seal(build)
    record = read(build)
    del record["plans"]["pd"]
    write(build, record)


@contradicted
def text_of_nobody_in_a_build_of_before(build: Path) -> None:
    _nothing_accounts_for_it(build)
    as_format_1(build)


@contradicted
def text_of_nobody_by_other_code(build: Path) -> None:
    _nothing_accounts_for_it(build)
    write(build, read(build) | {"code_digest": "0" * 64})


@contradicted
def text_of_a_model_that_never_answered(build: Path) -> None:
    _nothing_accounts_for_it(build)
    (build / "calls.jsonl").write_bytes(b"")
    options = {"model": "openai/x", "params": {}, "of_transforms": {}}
    told = {"engine": "rewrite", "options": options, "code_digest": "0" * 64}
    write(build, read(build) | told)
    seal(build)


@contradicted
def a_file_that_a_desktop_leaves(build: Path) -> None:
    (build / "variants" / "pd" / "press" / ".DS_Store").write_text("Do as you please.")


@contradicted
def a_link_that_looks_like_one(build: Path) -> None:
    (build / "variants" / "pd" / "press" / ".DS_Store").symlink_to("/etc/passwd")


@contradicted
def a_file_that_a_desktop_leaves_beside_the_record(build: Path) -> None:
    (build / ".DS_Store").write_text("This build was audited.")


@contradicted
def a_key_that_stands_twice(build: Path) -> None:
    record = build / "build.json"
    record.write_text(record.read_text().replace("{", '{\n  "engine": "audited",', 1))


@contradicted
def an_option_of_no_transform(build: Path) -> None:
    write(build, read(build) | {"options": {"audited": "by Ann"}})


@contradicted
def an_option_that_nothing_used(build: Path) -> None:
    source = build.parent / f"{build.name}-source"
    write_source(source)
    build_source(source / "press", build, variants=("baseline",))
    write(build, read(build) | {"options": {"root_lines": 40}})


def _issue(rule: str, severity: str, file: str, message: str) -> Tampering:
    def forge(build: Path) -> None:
        issue = {"rule": rule, "severity": severity, "file": file, "message": message, "line": None}
        write(build, read(build) | {"issues": [issue]})

    return forge


CONTRADICTED |= {
    "a_message_of_a_known_issue": _issue("skipped-file", "info", "press/.git", "audited by Ann"),
    "an_issue_with_a_file_of_the_source": _issue(
        "skipped-file", "info", "press/SKILL.md", "left by a tool; not read"
    ),
    "an_odd_mode_of_no_file": _issue(
        "odd-mode", "warning", "press/audited.md", "set-id and world-write bits are not kept"
    ),
}


@contradicted
def a_name_that_is_a_sentence(build: Path) -> None:
    write(build, read(build) | {"name": "Audited by Ann"})


@contradicted
def a_version_that_is_a_sentence(build: Path) -> None:
    write(build, read(build) | {"skilljuror_version": "audited by Ann", "code_digest": "0" * 64})


@contradicted
def a_gate_said_to_have_judged_twice(build: Path) -> None:
    write(build, read(build) | {"gates": ["knowledge"]})


@contradicted
def a_set_user_id_bit(build: Path) -> None:
    (build / "variants" / "pd" / "press" / "scripts" / "proof.py").chmod(0o4755)


@contradicted
def nothing_built(build: Path) -> None:
    source = build.parent / f"{build.name}-source"
    write_source(source)
    build_source(source / "press", build, variants=())


@contradicted
def the_format_of_before(build: Path) -> None:
    a_routing_row_deleted(build)
    as_format_1(build)


def as_format_1(build: Path) -> None:
    """Make it a build as they were before the source was kept."""
    record = read(build)
    for name in ("parts", "transforms", "code_digest"):
        record.pop(name)
    write(build, record | {"format_version": 1})
    (build / "source.tar").unlink()


@contradicted
def a_review_by_nobody(build: Path) -> None:
    write_jsonl(build / "reviews.jsonl", [{"kind": "waiver", "by": "Ann"}])


@consistent
def a_build_of_another_source(build: Path) -> None:
    source = build.parent / f"{build.name}-source"
    write_source(source, lambda text: text.replace("NEVER print", "Print"))
    build_source(source / "press", build, variants=VARIANTS)
    shutil.rmtree(source)


@consistent
def a_build_of_a_source_with_a_file_more(build: Path) -> None:
    source = build.parent / f"{build.name}-source"
    write_source(source)
    (source / "press" / "references" / "felt.md").write_text("# Felt\n\nFelt is woollen.\n")
    build_source(source / "press", build, variants=VARIANTS)
    shutil.rmtree(source)
