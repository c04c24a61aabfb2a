"""Patterns of the static checks: what one line of a Skill's text can show."""

import re
from typing import Literal, NamedTuple

_VERBS = (
    "add|adjust|answer|append|apply|ask|assign|avoid|build|calculate|call|check|choose|collect|combine|compare|compute"
    "|confirm|convert|copy|count|create|define|delete|describe|detect|determine|do|document|download|edit|ensure|evaluate"
    "|execute|explain|extract|fetch|fill|filter|find|fix|follow|format|gather|generate|get|give|handle|identify|implement"
    "|import|include|insert|inspect|install|invoke|keep|launch|leave|list|load|look|make|map|mark|match|merge|move|name"
    "|never|normali[sz]e|note|open|output|parse|pass|pick|place|plan|plot|prefer|prepare|present|print|produce|propose|provide"
    "|put|read|record|refer|remove|rename|render|repeat|replace|report|request|research|return|review|run|save|scan|search"
    "|see|select|send|set|show|skip|sort|split|start|state|stop|store|summari[sz]e|test|try|update|use|validate|verify|wait"
    "|walk|watch|wrap|write"
)
_LEAD = (
    r"^(?:\[[ xX]\] )?(?:(?:step \d+|\d+|first|then|next|finally|always|now|please)\b[-–—:,.)\s]*)?"
)
_CHECK = r"verify|validate|check|confirm|test|ensure|inspect|review|compare|assert|double-check|make sure"
_FAILS = r"fail(?:s|ed|ing|ures?)?|errors?|wrong|invalid|missing|mismatch|not (?:found|pass|match|exist|available)|broken|crash(?:es)?"
_DATA = r"json|jsonl|csv|tsv|ya?ml|xml|html|pdf|svg|png|gif|docx|xlsx|pptx|toml|txt|mp4|parquet"
_RUNTIMES = r"python|node(?:\.?js)?|java|jdk|go|ruby|rust|php|npm|pnpm|bun|deno|uv|docker|git|bash|react|typescript|\.net"
_CALL = (
    r"^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:(?:[\w./-]+/)?(?:python3?|node|bash|sh|npx|npm|pnpm|yarn|bunx?|uvx?|deno|go|cargo|dotnet"
    r"|make|git|gh|docker|kubectl|curl|pytest)\b|\./\S|[\w./${}-]+\.(?:py|sh|js|mjs|ts|rb)\b)(?=.*\S)"
)
ORDER = re.compile(rf"{_LEAD}(?:{_VERBS})\b(?!:)", re.IGNORECASE)
"""A sentence that begins with the verb of an order."""


Place = Literal["lines", "prose", "code", "any"]


class Sought(NamedTuple):
    """A signal that is met by enough lines with a pattern."""

    check: str
    signal: str
    place: Place
    """lines: sentences, items and rows; prose: headings too, but the title; code: code and commands on a page."""
    pattern: re.Pattern[str]
    fix: str
    least: int = 1


def _row(check: str, signal: str, place: Place, pattern: str, fix: str) -> Sought:
    return Sought(check, signal, place, re.compile(pattern, re.IGNORECASE), fix)


SOUGHT = (
    _row("contract", "inputs", "prose",
         r"^(?:inputs?|arguments?|parameters?|options|usage)\b|\b(?:accepts|receives|expects|takes) (?:an?|the|one|two|either)\b|\bgiven (?:an?|the)\b"
         r"|\binput (?:files?|paths?|data|folder|directory|images?|documents?|text|format)\b|\buser(?:'s)? (?:provides|gives|supplies|uploads|input)\b",
         "name what the Skill is given"),
    _row("contract", "outputs", "prose",
         r"^(?:outputs?|deliverables?|results?)\b|\b(?:saves?|writes?|returns?|produces|generates|creates|outputs) (?:to |as |only |it |an? |the )"
         r"|\boutput (?:files?|paths?|folder|directory|format)\b",
         "name what the Skill produces"),
    _row("contract", "format", "any",
         rf"\b(?:{_DATA}|md|markdown)\b|\b(?:report|output|response|result|commit|message|document) (?:template|format|structure)\b",
         "name the format of the result, or show a template"),
    _row("contract", "call", "code", _CALL, "show one command that runs as it is"),
    _row("verification", "check", "lines", rf"{_LEAD}(?:{_CHECK})\b", "order a check of the result"),
    _row("verification", "command", "code",
         rf"{_CALL}.*(?:test|check|validat|verif|lint|diff|assert|mypy|ruff|tsc|--dry-run|status)|^\s*assert\s",
         "show the command that checks the result"),
    _row("verification", "expected", "any",
         r"\bexpected (?:output|results?|behaviou?r|value|values)\b|^expected?\b|\bexpect to\b|\bshould (?:see|show|print|return|output|pass|now|succeed|fail)\b"
         r"|\bmust (?:pass|equal|match|succeed)\b|\bexit(?:s| code| status)\b.{0,12}\d|\b(?:tests?|checks?) pass(?:es)?\b|\b(?:zero|no) \w* ?errors\b|\bsuccess criteria\b",
         "say what the check shows if all is well"),
    _row("verification", "on failure", "prose",
         rf"\b(?:if|when|unless|until|on|in case)\b[^.]{{0,80}}\b(?:{_FAILS})\b|\btroubleshooting\b",
         "say what to do if the check fails"),
    _row("verification", "checklist", "prose", r"^\[[ xX]\] |\bcheck-?list\b", "list what must hold at the end"),
    _row("environment", "preconditions", "prose",
         r"\bpre-?requisites?\b|\bpre-?conditions?\b|^(?:dependencies|requirements|compatibility)\b|\brequir(?:es?|ing) (?:an? |the )?(?:`[^`]+`|(?-i:[A-Z])[\w.+-]*\w)"
         r"|\b(?:is|are|be|already) (?:pre-?)?installed\b|\bassumes? that\b|\bavailable (?:on|in) (?:your|the) (?:path|environment|system|machine)\b",
         "name what must be there before the first step"),
    _row("grounding", "code spans", "prose", r"`[^`]+`", "put names, paths and commands into code spans"),
    _row("grounding", "sources", "prose", r"https?://(?!localhost|127\.|example)\w", "link the source that the rules come from"),
    _row("procedure", "orders", "lines", ORDER.pattern, "write three or more instructions as orders: Run, Write, Check")._replace(least=3),
    _row("procedure", "branches", "lines",
         r"^(?:if|when|unless|for|in case)\b.{1,120}[,:→]|\b(?:if|unless|in case|depending on|whether)\b",
         "say which way to go in which case"),
    _row("procedure", "start", "prose",
         r"\b(?:step|phase|stage) (?:0|1|one)\b|^(?:first|start|begin)\b|\bquick ?start\b|\bgetting started\b|\b(?:start|begin)s? (?:with|by|from|at)\b|\bwhen to use\b"
         r"|^before (?:you|any|each|starting|doing|writing)\b",
         "say where to begin"),
    _row("procedure", "end", "lines",
         r"\b(?:done|finished|complete|stop|repeat|continue|iterate|loop)\b.{0,20}\b(?:when|until|once)\b|^(?:finally|lastly)\b|\bfinal (?:step|check|output|review)\b"
         r"|\b(?:definition of done|before (?:you )?(?:finish|complet|claim|deliver|submit)\w*)\b|\brepeat until\b",
         "say when the work is done"),
    _row("state", "artefacts", "any",
         rf"(?<![\w.])(?:[\w./-]+/)?[\w<>{{}}-]+\.(?:{_DATA})\b", "name the files that the work reads and leaves"),
    _row("state", "changes", "prose",
         r"\b(?:overwrit\w+|delet(?:e|es|ed|ing)|back(?:s|ed)? ?up|clean(?:s|ed)? ?-?up|temporary|restor(?:e|es|ed)|revert\w*|roll ?back|in[- ]place|undo)\b",
         "say what is changed, and what is cleaned up or kept"),
    _row("state", "order", "lines",
         r"^(?:then|next|after|before|once)\b|, then\b|\b(?:before|after) (?:you|each|every|that|this|\w+ing)\b|\bonce\b.{1,60},",
         "say what comes before what"),
    _row("state", "edge cases", "prose",
         r"\b(?:edge|corner) cases?\b|\b(?:empty|missing|duplicates?|null|nan|malformed|corrupt\w*|timeouts?|fallback|fall back|too (?:long|large|many|small)|encoding)\b",
         "say what to do with empty, missing or odd inputs"),
    _row("constraints", "exceptions", "prose",
         r"\b(?:unless|except|exceptions?|only (?:if|when|for)|even if|but not)\b", "say when a rule does not hold"),
)  # fmt: skip
INSTALLS = re.compile(
    r"\b(?:pip3?|uv|npm|pnpm|yarn|brew|apt(?:-get)?|apk|conda|cargo|gem|go|bun|dotnet|playwright)\s+(?:-\S+\s+|pip\s+)*"
    r"(?:install|add|ci|get|sync|restore)\b|--with[ =]\S|\bno (?:dependenc\w+|install\w*|setup)\b|\bstandard library\b"
    r"|\bpre-?installed\b|requirements\.txt",
    re.IGNORECASE,
)
"""How dependencies are installed, or that there are none."""
VERSIONS = re.compile(
    rf"\b(?:{_RUNTIMES})(?:\s+(?:version\s+)?|\s*(?:>=|≥|>|==|v)\s*)\d|[\w\]-](?:==|~=|>=)\d|\w@\^?\d+\.\d|\bversions? \d",
    re.IGNORECASE,
)
SANDBOX = re.compile(
    r"(?<![\w.:/-])/(?:root|mnt|logs/verifier|(?:home|Users)/(?!name|you|user|me\b)\w+)/[\w.<{$-]"
)
"""Paths that exist on one machine."""
WORD = re.compile(r"[\w.@+-]+")
FOLDER = re.compile(r"([\w.@+-]+)(?=/)|(?<=/)([\w.@+-]+)")
"""Words that may name a file, and a folder."""
IMPORT = re.compile(r"^\s*(?:from\s+\.*(\w[\w.]*)\s+import\b|import\s+(\w[\w., ]*?)\s*(?:#.*)?$)", re.M)  # fmt: skip
"""Modules that a line of Python imports."""
DECLARED_IN = re.compile(r"(?:^|/)(?:requirements[\w-]*\.txt|pyproject\.toml|setup\.py|environment\.ya?ml)$")  # fmt: skip
INLINE = re.compile(r"^# dependencies = \[[^\]]{0,2000}\]", re.M)
"""Dependencies in a script's own header."""
NORMATIVE = frozenset({
    "must", "must not", "shall", "shall not", "should", "should not", "never", "always", "required", "mandatory",
    "forbidden", "prohibited", "avoid",
})  # fmt: skip
PROHIBITIONS = frozenset({
    "must not", "shall not", "should not", "never", "forbidden", "prohibited", "avoid",
})  # fmt: skip
BANS = re.compile(r"(?:^\W*|[.;:,—–(]\s*|\b(?:and|but|or|please|always) )do(?: not|n't)\b", re.IGNORECASE)  # fmt: skip
"""An order not to do something; "you don't know" is none."""
DISTRIBUTIONS = {
    "PIL": "pillow", "yaml": "pyyaml", "docx": "python-docx", "pptx": "python-pptx", "cv2": "opencv", "sklearn": "scikit-learn",
    "bs4": "beautifulsoup4", "fitz": "pymupdf", "dotenv": "python-dotenv", "dateutil": "python-dateutil",
}  # fmt: skip
"""Module -> distribution of another name."""
