"""The docs are true: generated pages are fresh, links resolve, commands in them exist."""

import re
import subprocess
import sys

import pytest

from tests.support.every import every
from tests.support.places import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "AGENTS.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "llms.txt",
    *(ROOT / "docs").rglob("*.md"),
]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
COMMAND = re.compile(r"^\s*(?:\$ )?skilljuror ([a-z]+)\b", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FLAGS = re.compile(r"(?<=\s)(--[a-z-]+)")


@pytest.mark.slow
def test_generated_pages_are_fresh():
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr + "run: make docs"


@every("page", PAGES)
def test_links_resolve(page):
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(prose):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@every("page", PAGES)
def test_commands_exist_with_their_options(page):
    reference = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for line in page.read_text(encoding="utf-8").splitlines():
        for name in COMMAND.findall(line):
            assert f"## skilljuror {name}\n" in reference, line
            section = reference.split(f"## skilljuror {name}\n")[1].split("\n## ")[0]
            assert all(flag in section for flag in FLAGS.findall(line.split("#")[0])), line


def test_changelog_names_the_version():
    from skilljuror import __version__

    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"## [{__version__}]" in text
    assert f'version = "{__version__}"' in project
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in citation


def test_hand_written_pages_have_at_most_30000_words():
    """Examples included, signs and lines of tables not; a generated page says so in its first lines."""
    pages = {*PAGES, ROOT / "CHANGELOG.md"} - {ROOT / "llms.txt"}
    texts = [page.read_text(encoding="utf-8") for page in pages]
    written = [text for text in texts if "enerated" not in text[:400]]
    assert len(texts) - len(written) > 4
    words = sum(len(re.findall(r"\S*\w\S*", text)) for text in written)
    assert words <= 30_000, "cut, or link to the page that says it"


def test_every_page_is_in_the_index_and_on_the_site():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        name = str(page.relative_to(ROOT / "docs"))
        assert name == "index.md" or f"({name})" in index, f"add {name} to docs/index.md"
        assert f" {name}\n" in site, f"add {name} to nav of mkdocs.yml"
