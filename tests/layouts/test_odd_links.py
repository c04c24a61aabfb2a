"""Links with spaces, parentheses, escapes and titles, and mentions between typographic marks."""

import pytest

from skilljuror.audit.audit import audit
from skilljuror.base.skill import Blob, Bundle
from skilljuror.skill.bundles import make_bundle
from tests.support.laid_out import laid_out

FILLER = "\n".join(f"Sentence {n} about the kiln and its lid." for n in range(60))
BODY = f"""---
name: k
description: Fires kilns.
---
# Kilns

Start here.

## API reference

See [x](<docs (old)/p 1.md>) and [y](docs%20(old)/p%201.md) and [z](docs%20%28old%29/p%201.md#heat-1).
Also [w](p(2).md) and [v](<p(2).md#heat-2> "Title (x)") and [t](p\\(2\\).md) and `p(2).md`.
Deep: [s](./docs%20(old)/) [q](a.md 'it (a)') [ü](ü.md) [tab](a.md\t"t") ![i](<img (1).png>).
Read “inner/SKILL.md”—first, inner/SKILL.md’s end and «docs (old)/p 1.md».
Use [ref] and [ref][] and [see][ref], then [_notes.md](_notes.md).

[ref]: <docs (old)/p 1.md> "Ref"

{FILLER}

## If a lid sticks

{FILLER}
"""
PAGE = "# Topic {0}\n\nUse cone {0}.\n\n## Heat {0}\n\nSee [up](../SKILL.md#if-a-lid-sticks), [b](<../p(2).md>).\n"


def _layouts(end: str, mark: str, folder: str) -> dict[str, Bundle]:
    files = {
        "SKILL.md": BODY,
        "docs (old)/p 1.md": PAGE.format(1),
        "p(2).md": PAGE.format(2).replace("../", ""),
        "_notes.md": "# Notes\n\nKeep them.\n",
        "a.md": PAGE.format(3).replace("../", ""),
        "ü.md": PAGE.format(4).replace("../", ""),
        "inner/SKILL.md": "# Inner\n\nText of it.\n",
        "img (1).png": "x",
    }
    blobs = {
        f"{folder}/{path}": Blob((mark + text.replace("\n", end)).encode())
        for path, text in files.items()
    }
    if folder != "k":
        blobs["s2/SKILL.md"] = Blob(
            f"# Two\n\nSee [other](<../{folder}/docs (old)/p 1.md>).\n".encode()
        )
    return laid_out(make_bundle("k", blobs), "origin-flat", "baseline", "pd")


@pytest.mark.parametrize("folder", ["k", "s1"])
@pytest.mark.parametrize(
    ("end", "mark"), [("\n", ""), ("\r\n", "\ufeff")], ids=["LF", "CRLF and a mark"]
)
def test_they_follow_their_files(end: str, mark: str, folder: str) -> None:
    made = _layouts(end, mark, folder)
    for name, parent in (("baseline", "source"), ("pd", "baseline")):
        judged = audit(made[parent], made[name], name, "strict")
        rules = {one.rule for one in judged.own if one.severity != "info"}
        assert not {rule for rule in rules if rule.startswith(("knowledge.", "hygiene.broken"))}


def _pd_of(line: str) -> Bundle:
    """`pd` of a small skill whose root holds the line."""
    head = BODY.partition("## API reference")[0]
    body = f"{head}{line}\n\nUse [ref].\n\n## If a lid sticks\n\n{FILLER * 2}\n"
    source = make_bundle("k", {"k/SKILL.md": Blob(body.encode())})
    return laid_out(source, "baseline", "pd")["pd"]


@pytest.mark.parametrize("spelled", [str, str.upper, lambda path: path.partition("/")[0]])
@pytest.mark.parametrize("link", ["[ref]: {}", "See [these]({})."])
def test_a_link_that_leads_nowhere_leads_nowhere_in_pd(link, spelled):
    """No page that `pd` makes takes a name that the source's links name in vain."""
    (page,) = (path for path in _pd_of("").files if path != "k/SKILL.md")
    target = spelled(page.removeprefix("k/"))
    files = _pd_of(link.format(target)).files
    assert len(files) == 2
    assert not any(f"{path}/".casefold().startswith(f"k/{target}/".casefold()) for path in files)
    assert link.format(target) in (files["k/SKILL.md"].text or "")


def test_a_link_into_a_hidden_folder_leads_to_the_section_of_its_file() -> None:
    root = f"{BODY.partition('## API reference')[0]}See [cards](./.desk/cards.md).\n"
    files = {"k/SKILL.md": root, "k/.desk/cards.md": "# Cards\n\nOne for each pot.\n"}
    source = make_bundle("k", {path: Blob(text.encode()) for path, text in files.items()})
    page = laid_out(source, "baseline")["baseline"].files["k/SKILL.md"].text or ""
    assert "[cards](#reference-content-from-deskcardsmd)" in page
