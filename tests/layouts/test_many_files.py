"""One skill of very many files: its folders share rows, so that its root stays short."""

import os
import subprocess
import sys
from collections.abc import Iterator
from posixpath import dirname, join, normpath
from urllib.parse import unquote

import pytest

from skilljuror.audit.audit import audit
from skilljuror.audit.plans.verify import verify
from skilljuror.base.skill import Bundle
from skilljuror.skill.markdown import markdown_index
from tests.support.many_files import MANY_FILES, made_of


def _text(made: Bundle, path: str) -> str:
    return made.files[path].text or ""


each = pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=() if one == "folders" else pytest.mark.slow) for one in MANY_FILES],
)
"""The largest takes half a minute to build."""


@pytest.mark.slow
@each
def test_it_is_proved_and_passes_every_gate(name: str) -> None:
    plan, parent, made = made_of(name)
    assert verify(plan, parent, made) == ()
    judged = audit(parent, made, "pd", "strict")
    assert [one for one in judged.own if one.severity != "info"] == []
    assert judged.verdict == "pass"


def _links(made: Bundle, path: str) -> Iterator[str]:
    for token in markdown_index(tuple(_text(made, path).split("\n"))).inline_tokens:
        for child in token.children or ():
            if child.type == "link_open":
                yield unquote(str(child.attrs["href"]))


@pytest.mark.slow
@each
def test_every_link_is_relative_and_leads_to_a_file(name: str) -> None:
    _, _, made = made_of(name)
    for path in made.files:
        for link in _links(made, path) if path.endswith(".md") else ():
            target = (
                normpath(join(dirname(path), link.partition("#")[0])) if link[0] != "#" else path
            )
            assert target in made.files, (path, link)


@each
def test_the_root_stays_short_because_many_files_of_a_folder_share_a_row(name: str) -> None:
    _, _, made = made_of(name)
    assert len(_text(made, made.skills[0].path).split("\n")) < 100


PRINT = (
    "from tests.support.many_files import made_of\n"
    "print([made_of(name)[2].digest for name in ('folders', 'odd names', 'union')])"
)


@pytest.mark.slow
def test_the_seed_of_hashes_plays_no_part() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", PRINT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(told) == 1
