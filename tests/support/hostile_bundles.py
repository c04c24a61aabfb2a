"""Random bundles out of fragments that break Markdown tools."""

from hypothesis import strategies as st

from skilljuror.base.skill import Blob, Bundle
from skilljuror.skill.bundles import make_bundle

FRAGMENTS = (
    "para text with `code` and 5 mm.\n",
    "# H1\n",
    "## H2 `x`\n",
    "### H3\n",
    "###### H6\n",
    "Setext one\n===\n",
    "Setext two\n---\n",
    "```python\n# not a heading\nx=1\n```\n",
    "````md\n```py\n# a\n```\n````\n",
    "~~~\n## nope\n~~~\n",
    "- item\n  ```sh\n  # c\n  run\n  ```\n- b\n",
    "- item\n\n  ```sh\n  open in a list\n",
    "1. one\n2. two\n",
    "> quote\n> # qh\n",
    "> [quoted]: http://q.example\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "<!-- comment\n# inside\n-->\n",
    "<div>\nhtml\n</div>\n",
    "    indented code\n    # c\n",
    "---\n",
    "[ref]: http://x.example\n",
    "[ref]: references/h1.md 'again'\n",
    "[Ref Two]:\n  <scripts/we ird.sh>\n",
    "see [l](ref/a.md) and [r][ref] and [s](scripts/s.py) [h](#h1) [q][quoted] [Ref Two]\n",
    "read `ref/a.md`, references/h1.md and /root/.claude/skills/s0/scripts/s.py first.\n",
    "line\x0cff\u2028ls\x85nel\n",
    "lone \r return\n",
    "\ttabbed\n",
    "MUST keep <= 0.5 s\n",
    "[^1]: foot\n",
    "[^1]: a longer foot note\n",
    "[^1]: \n",
    "text[^1]\n",
    "#nospace\n",
    "## trailing ##\n",
    "  ## indented heading\n",
    "\n",
    "\n\n\n",
    "<!-- open\n",
    "```\nunclosed\n",
    "`````text\nunclosed long\n",
    "<script>\nopen\n",
    "<!DOCTYPE\n",
    "<pre>\n\nopen pre\n",
    "Line one\nlazy\n- x\nlazy2\n",
    "#\n",
    "## \n",
    "* * *\n",
    "=====\n",
    "## Helper implementation for `scripts/s.py`\n\n```python\nforged()\n```\n",
    "# Reference content from `ref/a.md`\n\nforged prose\n",
    "## Helper implementation for `../../escape.sh`\n\n```bash bundled\necho\n```\n",
    "## Supporting files\n\n- [x](y): open when\n",
    "Configuration for `s1`:\n",
    "[a]\n[b]: c\n",
    "\\\n",
    "- a\n\n- b\n",
    "- a\n",
)  # fmt: skip
OPEN = ("<!-- open\n", "```\nunclosed\n", "`````text\nunclosed long\n", "<script>\nopen\n")
SCRIPT = '#!/usr/bin/env python\n"""doc\n```\nx\n```\n"""\nprint(1)\n'

documents = st.builds(
    lambda parts, gap: gap.join(parts),
    st.lists(st.sampled_from(FRAGMENTS), max_size=22),
    st.sampled_from(["", "\n"]),
)
calm_documents = st.builds(
    lambda parts, gap: gap.join(part for part in parts if part not in OPEN),
    st.lists(st.sampled_from(FRAGMENTS), max_size=22),
    st.sampled_from(["", "\n"]),
)


def _spoiled(text: str, how: str) -> bytes:
    if "no-newline" in how:
        text = text.rstrip("\n")
    if "crlf" in how:
        text = text.replace("\n", "\r\n")
    return ("\ufeff" + text if "bom" in how else text).encode()


spoils = st.sampled_from(["", "", "", "", "no-newline", "crlf", "bom", "crlf no-newline bom"])
heads = st.sampled_from([
    "---\nname: s{0}\ndescription: d{0}\n---\n",
    "---\nname: s{0}\ndescription: d{0}\n---\n",
    "",
    "---\nname: s{0}\n---",
    "---\nname: [bad\n---\n",
    "---\n---\n",
])


@st.composite
def bundles(draw: st.DrawFn) -> Bundle:
    """One to three skills with roots, references, scripts and files beside them."""
    files: dict[str, Blob] = {}
    text = draw(st.sampled_from([documents, calm_documents]))

    def put(path: str, content: str, *, executable: bool = False) -> None:
        files[path] = Blob(_spoiled(content, draw(spoils)), executable)

    for number in range(draw(st.sampled_from([1, 1, 2, 3]))):
        folder = f"s{number}"
        root = draw(st.sampled_from(["SKILL.md", "SKILL.md", "skill.md"]))
        put(f"{folder}/{root}", draw(heads).format(number) + draw(text))
        for name, odds in (("ref/a.md", 7), ("references/h1.md", 4), ("inner/SKILL.md", 1)):
            if draw(st.integers(1, 10)) <= odds:
                put(f"{folder}/{name}", draw(text))
        if draw(st.booleans()):
            put(f"{folder}/scripts/s.py", SCRIPT, executable=draw(st.booleans()))
        if draw(st.integers(1, 5)) == 1:
            put(f"{folder}/scripts/we ird.sh", draw(st.sampled_from(["", "\n", "echo\n"])))
    if draw(st.integers(1, 6)) == 1:
        put("README.md", draw(text))
    if draw(st.integers(1, 8)) == 1:
        files["LICENSE"] = Blob(b"terms\n")
    return make_bundle("fuzz", files)
