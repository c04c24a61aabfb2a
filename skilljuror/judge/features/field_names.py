"""Names of fields: marked as a name, assigned a value, or in the header of a table.

"the columns `lot` and `reserve`", {"lot": 1, "reserve": 250}, --set lot=1 and "lot,consignor,reserve"
name the same fields. Everything is linear in the text.
"""

import re

_NAME = r"[A-Za-z][\w-]{1,40}+"
_FIELD = re.compile(
    rf"(?:`|\*\*)`?(?:\w{{1,40}}+\.){{0,4}}({_NAME})(?:`|\*\*)"
    rf"|(?<![\w.$/-])[\"'`\\]{{0,2}}({_NAME})[\"'`*\\]{{0,3}} ?(?::(?![/:\w])|=(?![=>]))"
)
_HEAD = re.compile(rf"[\s|\"]*{_NAME}[ \"]*(?:[,|\t][ \"]*{_NAME}[ \"]*){{2,}}[|\s]*")
_NAMES = re.compile(_NAME)

SHORTEST_BITS = 4.0
MOST_BITS = 9.0


def field_names(line: str) -> list[str]:
    """Return the normalised names of fields on a line, in order."""
    if _HEAD.fullmatch(line):
        found = _NAMES.findall(line)
    else:
        found = [match.group(1) or match.group(2) for match in _FIELD.finditer(line)]
    return [name.lower().replace("-", "_") for name in found]


def name_bits(name: str) -> float:
    """Return the surprise of a name in bits without knowledge of the text: short ones are common."""
    return min(MOST_BITS, SHORTEST_BITS + len(name) / 2)
