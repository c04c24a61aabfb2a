"""A flat page says to write a file out where something runs or reads it by its path."""

import pytest

from skilljuror.audit.gates.hygiene import unwritten_files
from skilljuror.skill.generated import announced_path
from tests.support.knowledge_bundles import bundle
from tests.support.laid_out import laid_out

HEAD = (
    "---\nname: bills\ndescription: Adds up bills. Use when a bill is asked for.\n---\n# Bills\n\n"
)
FILES = {
    "bills/SKILL.md": f"{HEAD}Run `python3 scripts/invoice.py data.csv`.\n\n## Layout\n\n"
    "Fill `assets/page.html`, and read `references/tax.md` for the tax.\n\n"
    "## Notes\n\n```bash\ncat ~/.claude/skills/bills/NOTES.md\n```\n",
    "bills/scripts/invoice.py": "import sys\n\nprint(sys.argv)\n",
    "bills/assets/page.html": "<p>{{ sum }}</p>\n",
    "bills/config/rates.yaml": "low: 7\n",
    "bills/references/tax.md": "# Tax\n\nThe low rate is 7 %.\n",
    "bills/NOTES.md": "# Notes\n\nKeep the bills.\n",
}


@pytest.mark.parametrize("variant", ["origin-flat", "baseline"])
def test_every_file_but_prose_is_to_be_written_out(variant):
    text = laid_out(bundle(FILES, "bills"), variant)[variant].files["bills/SKILL.md"].text or ""
    told = {path for line in text.split("\n") if (path := announced_path(line))}
    assert told == {"scripts/invoice.py", "assets/page.html", "config/rates.yaml", "NOTES.md"}


def test_the_sentence_stands_right_above_the_code():
    text = laid_out(bundle(FILES, "bills"), "baseline")["baseline"].files["bills/SKILL.md"].text
    assert (
        "## Helper implementation for `scripts/invoice.py`\n\n"
        "Write this file to `scripts/invoice.py` in the folder of this SKILL.md before you run anything"
        " that uses it.\n\n```python\nimport sys\n"
    ) in (text or "")


def test_the_files_come_out_again_and_no_page_speaks_of_writing_them():
    made = laid_out(bundle(FILES, "bills"), "baseline", "pd")["pd"]
    for path in FILES.keys() - {"bills/SKILL.md", "bills/references/tax.md"}:
        assert (made.files[path].text or "") == FILES[path]
    assert not any(
        announced_path(line)
        for blob in made.files.values()
        for line in (blob.text or "").split("\n")
    )


@pytest.mark.parametrize("variant", ["origin", "origin-flat", "baseline", "flat-files", "pd"])
def test_no_command_names_a_file_that_is_neither_there_nor_announced(variant):
    made = laid_out(bundle(FILES, "bills"), *dict.fromkeys(("baseline", variant)))
    assert list(unwritten_files(made[variant])) == []
