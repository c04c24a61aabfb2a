"""How moved files are named in prose; code is never changed, whatever it names."""

import re
from collections.abc import Mapping

from skilljuror.knowledge.markdown.inline_text import command_spans
from skilljuror.transforms.disclosure.file_layout import FileLayout
from skilljuror.transforms.editing.links import link_spans

Renaming = tuple[re.Pattern[str], Mapping[str, str]]
"""What finds the old names, and what each becomes."""


class PathMentions:
    """Names of one layout's files, as prose should say them: relative to the skill's folder."""

    def __init__(self, layout: FileLayout) -> None:
        self.layout = layout
        self._renamings = {
            skill: _renaming(names) for skill, names in self._new_names().items() if names
        }

    def renamed(self, text: str, skill: str) -> str:
        """The text, which comes from a source skill, with mentions of moved files set right."""
        for key in dict.fromkeys((skill, "")):
            renaming = self._renamings.get(key)
            if renaming is not None:
                text = _rename_in_prose(text, *renaming)
        return text

    def _new_names(self) -> dict[str, dict[str, str]]:
        """Source skill ("" for any) -> name of a moved file in its text -> path from the root."""
        flat, anywhere = self.layout.flat, dict[str, str]()
        new_names: dict[str, dict[str, str]] = {"": anywhere}
        for file in flat.embedded_files:
            path = self.layout.shown(self.layout.variant_paths[file.path])
            if path != file.path:
                anywhere[file.path] = path
                skill = flat.skill_at(file.heading.start)
                new_names.setdefault(skill, {})[flat.inner_path(file)] = path
        return new_names


def _renaming(names: Mapping[str, str]) -> Renaming:
    longest = sorted(names, key=lambda name: (-len(name), name))
    alternatives = "|".join(re.escape(name) for name in longest)
    return re.compile(rf"(?<![\w./-])(?:{alternatives})(?![\w/-]|\.\w)"), names


def _rename_in_prose(text: str, pattern: re.Pattern[str], names: Mapping[str, str]) -> str:
    """The text with names replaced outside link targets and commands."""
    kept = sorted([*link_spans(text), *command_spans(text)])
    parts, place = [], 0
    for start, end in [*kept, (len(text), len(text))]:
        if start >= place:
            parts.append(pattern.sub(lambda match: names[match[0]], text[place:start]))
            parts.append(text[start:end])
            place = end
    return "".join(parts)
