"""flat-files: all prose on one page, and on disk what commands need."""

import pytest

from skilljuror.base.errors import TransformError
from skilljuror.base.skill import Blob
from skilljuror.layouts.build.build import build_source
from skilljuror.skill.bundles import make_bundle, write_bundle
from skilljuror.skill.generated import announced_path, marker_path
from tests.support.laid_out import laid_out, transform

HEAD = (
    "---\nname: bills\ndescription: Adds up bills. Use when a bill is asked for.\n---\n# Bills\n\n"
)
ROOT = "bills/SKILL.md"
FILES = {
    ROOT: f"{HEAD}Run [the script](scripts/invoice.py): `python3 scripts/invoice.py data.csv`.\n\n"
    "## Layout\n\nFill [the page](assets/page.html), and read [the tax](references/tax.md) and"
    " `references/codes.txt`.\n\n## Notes\n\n```bash\ncat NOTES.md\n```\n",
    "bills/scripts/invoice.py": "import sys\n\nprint(sys.argv)",
    "bills/assets/page.html": "<p>{{ sum }}</p>\n",
    "bills/references/tax.md": "# Tax\n\nThe low rate is 7 %. Then run [it](../scripts/invoice.py).\n",
    "bills/references/codes.txt": "A is for post, B for the bank.\n",
    "bills/NOTES.md": "# Notes\n\nKeep the bills.\n",
    "bills/rates.csv": "low,7\n",
}
ON_DISK = FILES.keys() - {ROOT, "bills/references/tax.md"}


def bundle(files, name):
    return make_bundle(name, {path: Blob(text.encode()) for path, text in files.items()})


def made(files, name="bills"):
    return laid_out(bundle(files, name), "baseline", "flat-files")["flat-files"]


def test_what_commands_need_is_on_disk_byte_for_byte_and_prose_is_on_the_page():
    found = made(FILES)
    assert found.files.keys() == {ROOT, *ON_DISK}
    assert all(found.files[path].data.decode() == FILES[path] for path in ON_DISK)
    text = found.files[ROOT].text or ""
    assert "The low rate is 7 %." in text
    assert "print(sys.argv)" not in text


def test_the_page_announces_no_file_and_has_markers_of_prose_alone():
    lines = (made(FILES).files[ROOT].text or "").split("\n")
    assert not any(map(announced_path, lines))
    assert {marker_path(line) for line in lines} - {None} == {"references/tax.md"}


def test_links_lead_to_the_files_again_and_to_the_sections_of_prose():
    text = made(FILES).files[ROOT].text or ""
    assert "[the script](scripts/invoice.py)" in text
    assert "[it](scripts/invoice.py)" in text
    assert "[the page](assets/page.html)" in text
    assert "[the tax](#reference-content-from-referencestaxmd)" in text


def test_the_execute_bit_is_kept():
    source = bundle(FILES, "bills")
    path = "bills/scripts/invoice.py"
    source.files[path] = Blob(source.files[path].data, executable=True)
    assert laid_out(source, "baseline", "flat-files")["flat-files"].files[path].executable


def test_a_heading_of_shared_files_goes_if_all_of_them_are_on_disk():
    found = made({**FILES, "shared/tool.py": "print(1)\n"}, "work")
    assert "work/shared/tool.py" in found.files
    assert "# Shared material" not in (found.files["work/SKILL.md"].text or "")


def test_several_skills_keep_the_folder_to_run_their_commands_from():
    second = {"post/SKILL.md": HEAD.replace("bills", "post"), "post/go.sh": "echo go\n"}
    found = made({**FILES, **second}, "work")
    text = found.files["work/SKILL.md"].text or ""
    assert {"work/bills/scripts/invoice.py", "work/post/go.sh"} <= found.files.keys()
    assert "Run the commands of this section from the `bills` directory." in text


def test_a_nested_skill_that_a_command_names_stays_on_the_page():
    nested = {
        ROOT: f"{HEAD}```bash\ncat inner/SKILL.md\n```\n",
        "bills/inner/SKILL.md": HEAD + "Add.\n",
    }
    found = made(nested)
    assert found.files.keys() == {ROOT}
    assert "Add." in (found.files[ROOT].text or "")


def test_a_skill_of_prose_alone_has_the_page_of_baseline():
    prose = {ROOT: FILES[ROOT].replace("scripts/invoice.py", "the tool")}
    found = laid_out(bundle(prose, "bills"), "baseline", "flat-files")
    assert found["flat-files"].files == found["baseline"].files


def test_it_needs_one_flat_page():
    with pytest.raises(TransformError, match="exactly one skill"):
        transform("flat-files").plan(bundle({"a/SKILL.md": HEAD, "b/SKILL.md": HEAD}, "two"), {})


def test_a_build_passes_every_gate_and_its_record_says_so(tmp_path):
    write_bundle(bundle(FILES, "bills").files, tmp_path)
    record = build_source(tmp_path / "bills", tmp_path / "out", variants=["baseline", "flat-files"])
    found = {one.variant: one for one in record.variants}
    assert found["flat-files"].verdict == "pass"
    assert found["flat-files"].parent == "baseline"
    assert found["flat-files"].feasibility == "ok"
    assert found["flat-files"].announced == ()
    assert found["flat-files"].root_tokens < found["baseline"].root_tokens
