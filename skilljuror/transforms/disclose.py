"""Lay out a Progressive Disclosure bundle: root, references, recreated files, routing rows."""

from pathlib import PurePosixPath
from urllib.parse import quote

from skilljuror.knowledge.classes import is_markdown
from skilljuror.knowledge.headings import can_shift, slug
from skilljuror.knowledge.markdown import Document, plain
from skilljuror.knowledge.markers import Embedded
from skilljuror.knowledge.render import Sources
from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Copy, PlannedFile
from skilljuror.transforms.cues import code_cue, first_sentence, mention, topics
from skilljuror.transforms.page import Page
from skilljuror.transforms.sections import GROUP_TOKENS, FlatSkill, Group

MERGED = 6
"""Most sections that share one reference."""
LONG_REFERENCE = 100
"""Lines from which a reference opens with a list of its contents."""


class Disclosure:
    """The files of one layout."""

    def __init__(self, parent: Bundle, sources: Sources, flat: FlatSkill) -> None:
        self.flat = flat
        self.sources = sources
        self.folder = str(PurePosixPath(flat.path).parent)
        self.files: list[PlannedFile] = []
        self.notes: list[str] = []
        self.rows: list[tuple[str, dict[str, str]]] = []
        self.root_lines = 0
        self.data = sorted(path for path in parent.files if path != flat.path)
        self.names = {path.casefold() for path in self.data} | {flat.path.casefold()}
        self.names |= {
            f"{self.folder}/{file.path}".casefold()
            for file in flat.embedded
            if not is_markdown(file.path)
        }

    def build(self, kept: list[Group], moved: list[Group]) -> None:
        """Fill `files`: the root last made, first listed."""
        for run in merged(moved):
            self._reference(run)
        for file in self.flat.embedded:
            self._recreate(file)
        self._data_rows()
        root = self._root(kept)
        self.root_lines = len(root.lines)
        self.files.insert(0, root.planned())

    def _free(self, path: str) -> str:
        """A path that no other file takes, whatever the case."""
        pure = PurePosixPath(path)
        candidate, count = path, 2
        while candidate.casefold() in self.names:
            candidate = str(pure.with_name(f"{pure.stem}-{count}{pure.suffix}"))
            count += 1
        self.names.add(candidate.casefold())
        return candidate

    def _reference(self, run: list[Group]) -> None:
        title = run[0].title or (run[0].path[-1] if run[0].path else "notes")
        path = self._free(f"{self.folder}/references/{slug(title)}.md")
        page = Page(path, self.sources)
        ranges = [one for group in run for one in group.ranges]
        self._fill(page, ranges, title if len(run) == 1 else (run[0].path or (title,))[-1])
        self.files.append(page.planned())
        titles = [group.title for group in run]
        self._row_markdown(path, titles, Document(page.lines))

    def _fill(self, page: Page, ranges: list[tuple[int, int]], title: str) -> None:
        """Copy ranges, promoted so that the page opens with a heading of level one."""
        inside = [
            one
            for one in self.flat.document.headings
            if any(start <= one.start < end for start, end in ranges)
        ]
        tops = [one for one in inside if one.level == min(two.level for two in inside)]
        alone = len(tops) == 1 and tops[0].start == ranges[0][0]
        if not alone:
            page.make("reference-title", title=plain(title) or "Notes")
        wanted = 1 if alone else 2
        shift = wanted - tops[0].level if tops else 0
        shift = shift if shift < 0 and can_shift(inside, shift) else 0
        for start, end in joined(ranges):
            page.gap()
            self.copy_trimmed(page, start, end, shift)

    def copy_trimmed(self, page: Page, start: int, end: int, shift: int = 0) -> None:
        """Copy lines without the blank ones at the edges."""
        while start < end and not self.flat.lines[start].strip():
            start += 1
        while end > start and not self.flat.lines[end - 1].strip():
            end -= 1
        page.copy(self.flat.path, start + 1, end, shift)

    def _recreate(self, file: Embedded) -> None:
        """A file carried by a marker becomes a file again."""
        if not is_markdown(file.path):
            path = f"{self.folder}/{file.path}"
            self.files.append(self._verbatim(path, file))
            self._row_file(path, file)
            return
        inner = file.path.removeprefix("references/")
        if inner.casefold().endswith("skill.md"):
            inner = f"{PurePosixPath(inner).parent.name or 'skill'}.md"
        path = self._free(f"{self.folder}/references/{inner}")
        if file.fenced:
            self.files.append(self._verbatim(path, file))
            document = Document(file.text.lines)
        else:
            page = Page(path, self.sources)
            self._promote(page, file)
            self.files.append(page.planned())
            document = Document(page.lines)
        titles = [one.title for one in document.headings]
        self._row_markdown(path, titles, document, mention(self.flat.document, file.path))

    def _verbatim(self, path: str, file: Embedded) -> PlannedFile:
        pieces = (Copy(self.flat.path, file.start + 1, file.end),)
        return PlannedFile(
            path,
            pieces if file.end > file.start else (),
            file.executable,
            file.text.final_newline,
            file.text.bom,
            file.text.crlf,
        )

    def _promote(self, page: Page, file: Embedded) -> None:
        inside = [one for one in self.flat.document.headings if file.start <= one.start < file.end]
        shift = 1 - min((one.level for one in inside), default=1)
        page.copy(
            self.flat.path, file.start + 1, file.end, shift if can_shift(inside, shift) else 0
        )

    def shown(self, path: str) -> str:
        """The path as the root names it: relative to the skill's folder."""
        return path.removeprefix(f"{self.folder}/")

    def _row_markdown(
        self, path: str, titles: list[str], document: Document, told: str = ""
    ) -> None:
        shown = self.shown(path)
        cue = told or first_sentence(document)
        about = topics([*titles, *(one.title for one in document.headings)])
        params = {"path": shown, "link": quote(shown)}
        if not about and not cue:
            about = PurePosixPath(path).stem
        if about and cue:
            self.rows.append(("row-topics-cue", params | {"topics": about, "cue": cue}))
        elif about:
            self.rows.append(("row-topics", params | {"topics": about}))
        else:
            self.rows.append(("row-cue", params | {"cue": cue}))

    def _row_file(self, path: str, file: Embedded) -> None:
        shown = self.shown(path)
        helper = file.heading.title.startswith("Helper implementation")
        name = PurePosixPath(path).name
        cue = mention(self.flat.document, name)
        cue = cue or (code_cue(path, "\n".join(file.text.lines)) if helper else "")
        kind = "row-script" if helper else "row-file"
        if cue:
            self.rows.append((f"{kind}-cue", {"path": shown, "cue": cue}))
        else:
            self.rows.append((kind, {"path": shown}))

    def _data_rows(self) -> None:
        folders: dict[str, list[str]] = {}
        for path in self.data:
            folders.setdefault(str(PurePosixPath(self.shown(path)).parent), []).append(path)
        for folder, paths in sorted(folders.items()):
            if len(paths) < 3 or folder == ".":
                self.rows += [("row-data", {"path": self.shown(path)}) for path in paths]
            else:
                names = ", ".join(PurePosixPath(path).name for path in paths[:3])
                params = {"path": folder, "count": str(len(paths)), "names": names}
                self.rows.append(("row-data-folder", params))

    def _root(self, kept: list[Group]) -> Page:
        page = Page(self.flat.path, self.sources)
        page.copy(self.flat.path, 1, self.flat.document.skip)
        for start, end in joined([one for group in kept for one in group.ranges]):
            page.gap()
            self.copy_trimmed(page, start, end)
        if self.rows:
            page.gap()
            page.make("routing")
            page.make("blank")
            page.make("routing-lead")
            page.make("blank")
            for template, params in self.rows:
                page.make(template, **params)
        return page


def joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, neighbours made one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        elif end > start:
            found.append((start, end))
    return found


def merged(moved: list[Group]) -> list[list[Group]]:
    """Neighbouring groups below the same heading share a reference while they are small."""
    runs: list[list[Group]] = []
    for group in moved:
        last = runs[-1] if runs else []
        size = sum(one.tokens for one in last) + group.tokens
        same = bool(last) and last[-1].path == group.path
        if same and size <= GROUP_TOKENS and len(last) < MERGED:
            last.append(group)
        else:
            runs.append([group])
    return runs
