"""The rules of attribution, and what takes the place of each where it is switched off."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from skilljuror.events.accesses.line_selection import WHOLE_FILE
from skilljuror.events.commands import line_options
from skilljuror.events.shell.expansion import UNKNOWN, Word

NEVER = re.compile(r"(?!)")
"""An expression that fits nothing."""


def gives(value: Any) -> Callable[..., Any]:
    """A function that gives one value, whatever it is asked."""
    return lambda *_, **__: value


nothing = gives(())
no = gives(False)
none = gives(None)
empty = gives("")


def same(given: Any, *_: Any, **__: Any) -> Any:
    """What was given, as it is."""
    return given


def _one_turn(reader: Any, words: Any, number: int) -> list[list[Word]]:
    """All values of a loop at once."""
    return [[word for parts in words for word in reader._expand(parts, number)] or [UNKNOWN]]


@dataclass(frozen=True)
class Rule:
    """A rule that attribution could do without."""

    name: str
    off: dict[str, Any]
    """`room.module:name` -> what takes its place."""
    code: tuple[str, ...] = ()
    """What its lines are counted over, where that is more than what is replaced: modules too."""
    kept: str = field(default="", kw_only=True)
    """Which behaviour of agents needs it, for a rule that changes nothing in the material."""


PY = "python.file_accesses"
CMD = "commands.pipeline"
INTERP = "commands.interpreters"
WRAP = "shell.wrappers"
RES = "resolution.resolver"
CAT = "resolution.skill_catalog:SkillCatalog"
DISC = "resolution.skill_discovery"
RUN = "run_context"
SEG = "evidence.output_segments"
READ = "evidence.read_evidence"
ERR = "evidence.error_messages"
INJ = "events.injected_content"
SEARCH = "events.search_output"
UNCLAIMED = "events.unclaimed_content"
ATTR = "attribute"

RULES = (
    # Python
    Rule("python: all of it", {f"{PY}:python_accesses": gives([]), f"{PY}:accesses_of_script": gives([])}, ("python.file_accesses", "python.dataflow", "python.path_values")),
    Rule("python: scripts written", {f"{PY}:accesses_of_script": gives([])}),
    Rule("python: from read to print", {f"{PY}:_by_what_is_printed": lambda reader, printed: list(reader.found.values())}, ("python.dataflow", f"{PY}:_by_what_is_printed", f"{PY}:_as_printed"), kept="Agents open a file in Python to count, convert or check it and print a result: no text of it reaches them."),
    Rule("python: printed input", {f"{PY}:prints_input": no}, kept="Agents pipe a JSON file into `python3 -c` to print one field of it."),
    Rule("python: libraries", {f"{PY}:LIBRARIES": frozenset()}, kept="Agents work inside a bundle's scripts/ and import pandas beside its own modules."),
    Rule("python: open and read", {f"{PY}:_CodeReader._open": none}),
    Rule("python: write_text", {f"{PY}:_WRITERS": frozenset()}, kept="Agents that develop a Skill replace text of its files with `path.write_text(path.read_text().replace(…))`."),
    Rule("python: child processes", {f"{PY}:_CodeReader._run": none}, kept="Agents run a bundle's script by `subprocess.run([sys.executable, script])` to loop over inputs."),
    Rule("python: modules by path", {f"{PY}:_LOADERS": frozenset()}, kept="A bundled script with a hyphen in its name can be imported by its path only (spec_from_file_location)."),
    Rule("python: imports", {f"{PY}:_CodeReader.imports": none}),
    Rule("python: sys.path", {f"{PY}:_is_import_path": no}),
    Rule("python: names", {"python.path_values:PathValues.assign": none}, kept="Agents name the bundle's folder once, `SKILL = Path(…)`, and open files below it."),
    Rule("python: joined paths", {"python.path_values:_joined": none}, kept="Agents name the bundle's folder once, `SKILL = Path(…)`, and open files below it."),
    Rule("python: glued texts", {"python.path_values:_glued": none}, kept="Agents name the bundle's folder once and open `f'{SKILL}/references/x.md'`."),
    # commands
    Rule("interpreters: all", {f"{INTERP}:is_interpreter": no}, (INTERP,)),
    Rule("interpreters: inline code", {f"{INTERP}:_inline": gives([])}),
    Rule("interpreters: modules", {f"{INTERP}:_module": gives([])}, kept="Agents run scripts that import each other as `python -m scripts.run` from the bundle, and look at data with `python -m json.tool`."),
    Rule("interpreters: arguments", {f"{INTERP}:_handed": gives([])}, kept="Agents hand a form or template of the bundle to a script, `python3 fill.py assets/form.json`, and never print it."),
    Rule("interpreters: PYTHONPATH", {f"{INTERP}:_search_path": gives([])}, kept="Agents import a bundle's modules from code of their own with PYTHONPATH set to its scripts."),
    Rule("interpreters: input passed on", {f"{INTERP}:passes_input": no}, kept="Agents pipe a file into `python3 -c` that prints a field of it."),
    Rule("interpreters: code from input", {f"{INTERP}:reads_input": no}, kept="Agents feed scripts to an interpreter, `bash < install.sh`, `bash <(cat install.sh)`."),
    Rule("apply_patch", {"commands.apply_patch:patch_accesses": gives([])}, ("commands.apply_patch",)),
    Rule("search commands", {"commands.search:is_search": no}, ("commands.search",)),
    Rule("lines: head and tail", {"commands.line_options:end_range": lambda command: (line_options.operands_of(command, frozenset({"-n", "-c"})), WHOLE_FILE)}),
    Rule("lines: sed", {"commands.line_options:sed_selection": gives(WHOLE_FILE)}, ("commands.line_options:sed_range", "accesses.line_selection:sed_selection")),
    Rule("lines: narrowed by pipes", {"accesses.line_selection:LineSelection.narrowed": lambda self, outer: self}, kept="Agents cut long files down, `cat FILE | head -50`."),
    Rule("commands: git show", {f"{CMD}:_git": none}, kept="Agents that develop a Skill look at its older text with `git show HEAD:skills/x/SKILL.md`."),
    Rule("commands: cp and mv", {f"{CMD}:_copy": none}, kept="Agents copy a template or script of the bundle into the workspace and use it there."),
    Rule("commands: ln", {f"{CMD}:_link": none}, kept="Agents install a Skill by linking it into the folder of Skills, and link its scripts into the workspace."),
    Rule("commands: rm", {f"{CMD}:_remove": none}, kept="Agents that develop a Skill remove files of it."),
    Rule("commands: tee", {f"{CMD}:_tee": none}, kept="Agents write files with `tee FILE <<'EOF'` where a redirection would lack the rights."),
    Rule("commands: pickers", {"commands.line_options:partial_range": lambda command: ([], WHOLE_FILE)}, kept="Agents read data and schemas of a bundle with jq, and compare files with diff."),
    Rule("commands: names and sizes", {f"{CMD}:Pipeline._names": none}),
    Rule("commands: unknown programs", {f"{CMD}:Pipeline._unknown": none}),
    Rule("commands: redirections", {f"{CMD}:Pipeline._redirects": none}),
    Rule("commands: second tries", {f"{CMD}:_instead": same}, kept="Agents try a second way to read the same file where the first fails, `jq . FILE || cat FILE`."),
    Rule("commands: other output", {f"{CMD}:_may_print": no}, kept="Agents print a file after a program that prints too: not every line of the output is the file's."),
    Rule("echo marks", {f"{SEG}:_separators": gives([])}, (f"{SEG}:_separators", f"{SEG}:_by_separators", f"{SEG}:_fences", "shell.printed_text:separator_line", "shell.printed_text:lines_matching"), kept="Agents echo a line with the name of a file before each that one command prints."),
    # wrappers
    Rule("wrappers: all", {f"{WRAP}:unwrap": lambda commands, *_: iter(commands)}, (WRAP,), kept="Codex runs every command as `bash -lc '…'`."),
    Rule("wrappers: bash -c and here-documents", {f"{WRAP}:_inner_shell": none}, kept="Codex runs every command as `bash -lc '…'`."),
    Rule("wrappers: xargs", {f"{WRAP}:_xargs": none}, kept="Agents read all files of a folder by `find … | xargs cat`."),
    Rule("wrappers: find -exec", {f"{WRAP}:_find_exec": none}, kept="Agents read all files of a folder by `find … -exec cat {} +`."),
    Rule("wrappers: sudo, timeout, env …", {f"{WRAP}:_PREFIXES": {}}, kept="Agents run scripts of a bundle under `timeout 60`, `env`, `sudo` or `time`."),
    Rule("wrappers: uv run, npx …", {f"{WRAP}:_RUNNERS": {}}, kept="Bundled scripts name their dependencies and are run by `uv run` or `npx tsx`."),
    Rule("produced paths: all", {"shell.produced_paths:listing": nothing, "shell.produced_paths:produced": nothing}, ("shell.produced_paths",), kept="Agents read whatever a listing gives: `find … | xargs cat`, `for f in $(ls …)`, `| while read f`."),
    Rule("produced paths: $(…)", {"shell.produced_paths:output_words": gives((UNKNOWN,))}, ("shell.produced_paths:output_words", "shell.produced_paths:_output"), kept="Agents read `$(find … -name SKILL.md | head -1)` and files below `$(dirname …)`."),
    Rule("produced paths: find", {"shell.produced_paths:_found": nothing}, kept="Agents read all files of a folder by `find … -exec cat {} +`."),
    Rule("shell: loops turn by turn", {"shell.reader:ShellReader._turns": _one_turn}, kept="Agents print several files in a loop, each below a line with its name."),
    Rule("shell: braces", {"shell.expansion:_braces": lambda parts: [parts]}, kept="Agents name several files at once, `cat references/{a,b}.md`."),
    Rule("shell: exported variables", {"shell.reader:ShellReader._export": none}, kept="Agents export the Skill's folder once and use it in `bash -c '…'`."),
    Rule("shell: read variables", {"shell.reader:ShellReader._read_variable": none}, kept="Agents go through a listing by `find … | while read -r f`."),
    Rule("shell: streams of groups", {"shell.reader:ShellReader._feed": none}, kept="Agents cut the output of several reads, `{ cat a; cat b; } | head -50`, and compare `<(…)`."),
    Rule("shell: text left open", {"shell.syntax_tree:_DELIMITER": NEVER}, kept="Agents forget or indent the end of a here-document, which a shell takes to the end of the text."),
    # resolution
    Rule("globs: known names", {f"{CAT}.expand": gives([])}, (f"{CAT}.expand", f"{CAT}._paths")),
    Rule("globs: headings", {"resolution.glob_matches:paths_in_headings": nothing}, kept="Agents print several files in a loop, each below a line with its name; without a manifest only those lines tell which."),
    Rule("globs: front matter", {"resolution.glob_matches:paths_by_front_matter": nothing}, kept="Agents look at all skills at once, `head -5 ~/.claude/skills/*/SKILL.md`; without a manifest only the front matter tells which."),
    Rule("globs: listings", {f"{RES}:AccessResolver._listed": gives([])}, kept="Claude Code's Glob tool is asked for `SKILL/**/*.md` to see which references there are."),
    Rule("names: listings", {"resolution.resource_names:learn_listed_names": none}, kept="Agents list references/ and then print `references/*.md`, without a line between the files."),
    Rule("names: links", {"resolution.resource_names:learn_linked_names": none}, kept="SKILL.md names its references, and agents print `references/*` without listing them."),
    Rule("copies: all", {"resolution.file_copies:FileCopies.add": none}, ("resolution.file_copies",), kept="Agents copy scripts and templates of a Skill into the workspace and use them there."),
    Rule("scripts written earlier", {f"{RES}:AccessResolver._accesses_of_script": gives([])}, (f"{RES}:AccessResolver._accesses_of_script", f"{RES}:AccessResolver._run")),
    Rule("mentions", {f"{RES}:AccessResolver._mentions": nothing}),
    Rule("paths: by their end", {f"{CAT}.by_suffix": none}, kept="Plugins and harnesses set variables that no log shows, `${CLAUDE_PLUGIN_ROOT}/skills/x/scripts/run.py`."),
    Rule("paths: folder kept between calls", {f"{RES}:AccessResolver._keep_folder": none}, kept="Claude Code's shell stays where a `cd` went: the next call runs `python3 scripts/run.py`."),
    Rule("paths: venv and the like", {f"{RES}:_NO_RESOURCE": NEVER}, kept="Agents make a virtual environment inside a Skill that brings a requirements.txt, and `source .venv/bin/activate`."),
    Rule("paths: folders listed by name", {f"{RES}:AccessResolver._as_folder": lambda self, location: location}, kept="A Skill has folders of its own naming, and agents list them."),
    Rule("calls: Windows paths", {"resolution.call_normalisation:with_forward_slashes": same}, kept="Agents on Windows write `C:\\Users\\me\\.codex\\skills\\x\\SKILL.md`."),
    Rule("calls: what a tool's name tells", {"resolution.call_normalisation:classify_tool": gives(("read", True))}, kept="File servers that speak MCP bring tools of their own: read_text_file, edit_file, list_directory."),
    Rule("calls: typed into a shell", {"resolution.call_normalisation:typed_text": empty}),
    Rule("calls: unknown tools", {f"{RES}:AccessResolver._unknown_tool": gives([])}),
    Rule("calls: searches for names", {f"{RES}:_prints_names_only": no}, kept="Claude Code's Grep prints the names of files unless it is asked for content."),
    Rule("discovery: known roots", {"resolution.skill_catalog:_KNOWN_ROOT": NEVER}),
    Rule("discovery: paths in prompts", {f"{DISC}:_skill_files": nothing}),
    Rule("discovery: roots in prompts", {f"{DISC}:_ROOT_PATH": NEVER}, kept="Benchmarks tell agents without skills of their own where they lie: \"Skills are in /srv/skills\"."),
    Rule("discovery: base directories", {f"{DISC}:_add_body": none}),
    Rule("discovery: loaded skills", {f"{RUN}:_learn_skill": none}),
    Rule("catalog: closed roots", {f"{DISC}:_add_offered": none}),
    Rule("catalog: loose bundle folders", {"resolution.skill_catalog:BUNDLE_FOLDERS": frozenset()}),
    # run
    Rule("run: polls", {f"{RUN}:_add_polled_output": no}),
    Rule("run: shared screens", {f"{RUN}:_answered_calls": lambda step: ((c, c.result) for c in step.calls)}),
    Rule("run: learned texts", {f"{RUN}:_assembled": none}, (f"{RUN}:_assembled", f"{RUN}:_pieces")),
    Rule("run: learned names", {f"{RUN}:_learn_name": none}),
    # evidence
    Rule("content: line prefixes", {"evidence.line_index:without_line_prefix": str.strip}),
    Rule("content: trivial lines", {"evidence.line_index:_is_trivial": no}, kept="Lone braces and rules stand in any output, and are no lines of a file that holds them too."),
    Rule("segments: headings", {f"{SEG}:_by_headers": gives({})}, (f"{SEG}:_by_headers", f"{SEG}:_fit", f"{SEG}:_without_blank_ends", f"{SEG}:has_file_headers"), kept="Agents print the beginnings of several files by `head -50 a b`; Gemini CLI's read_many_files heads each."),
    Rule("segments: after other output", {f"{SEG}:_after_other_output": gives({})}, kept="Codex looks around first: `pwd && ls && sed -n 1,200p SKILL.md`."),
    Rule("segments: front matter", {f"{SEG}:_by_front_matter": gives({})}),
    Rule("segments: all texts known but one", {f"{SEG}:_by_known_texts": gives({})}),
    Rule("errors: all", {f"{READ}:failure_of": none}, (ERR,)),
    Rule("errors: of a path", {f"{ERR}:error_line_for": none}),
    Rule("errors: unknown programs", {f"{ERR}:command_not_found_line": none}, kept="Agents try rg or bat where they are not installed, in a chain that goes on."),
    Rule("errors: nothing but complaints", {f"{ERR}:only_error_messages": none}, (f"{ERR}:only_error_messages", f"{ERR}:_is_error_message"), kept="A program that is called wrongly prints how it is called, and not the file."),
    Rule("errors: tracebacks", {f"{ERR}:traceback_line": none}, kept="Inline Python that fails prints a traceback, and not the file that it was to print."),
    Rule("terminal screens", {"evidence.terminal_screens:is_screen": no}, ("evidence.terminal_screens",)),
    Rule("cut outputs", {f"{READ}:_CUT_NOTICE": NEVER}),
    Rule("reads: blank lines at the ends", {f"{READ}:_widened": same}),
    Rule("reads: hidden complaints", {f"{READ}:_HIDES_ERRORS": NEVER}, kept="Agents try places, `cat FILE 2>/dev/null || true`: an empty output is no read there."),
    Rule("reads: failures without a status", {f"{READ}:_FAILED": NEVER}, kept="Terminals and some ATIF logs tell no exit status: a traceback does."),
    Rule("reads: numbers of the tool", {f"{READ}:_numbered": gives(("full", None))}),
    Rule("reads: refusals", {f"{READ}:_refusal": none}),
    # findings
    Rule("injected: trees", {f"{INJ}:_tree": nothing}),
    Rule("injected: files", {f"{INJ}:_injected_file": nothing}),
    Rule("injected: texts of offered skills", {f"{INJ}:_skill_text_in_prompt": nothing}, kept="Harnesses without skills put the text of SKILL.md into the prompt."),
    Rule("injected: loaded before", {f"{INJ}:_LOADED_BEFORE": NEVER}),
    Rule("injected: forked", {f"{INJ}:_IN_SUB_AGENT": NEVER}),
    Rule("injected: cut bodies", {f"{INJ}:_CUT_BODY": NEVER}, kept="Claude Code cuts the bodies that it puts back after a compaction, and says so."),
    Rule("injected: arguments", {f"{INJ}:_without_arguments": same}),
    Rule("injected: launch notices", {f"{INJ}:_LAUNCHING": NEVER}),
    Rule("injected: refused skills", {f"{INJ}:_REFUSED": NEVER}, kept="ATIF logs tell of a refused skill in words only."),
    Rule("injected: disclosed names", {f"{INJ}:_LISTS_FILES": NEVER}),
    Rule("search output: all", {f"{SEARCH}:search_events": nothing, f"{SEARCH}:events_of_wide_search": nothing}, (SEARCH,)),
    Rule("search output: wide searches", {f"{SEARCH}:events_of_wide_search": nothing}, kept="Agents search all skills at once, `grep -rn term ~/.claude/skills`."),
    Rule("search output: headings", {f"{SEARCH}:_HEADING": NEVER}, kept="Gemini CLI's search prints the file once and numbered lines below it."),
    Rule("search output: lines around", {f"{SEARCH}:_CONTEXT_LINE": NEVER}, kept="Agents search with `-A 5` or `-C 3` to read on around what they find."),
    Rule("search output: one file", {f"{SEARCH}:_in_one_file": none}, kept="Agents search one file, which prints no path: `grep -n term SKILL.md`."),
    Rule("unclaimed content: all", {f"{UNCLAIMED}:unclaimed_reads": nothing}, (UNCLAIMED,), kept="Agents read by code that nobody follows here: a loop in Python, a Makefile, a copy made long before."),
    Rule("unclaimed content: differences", {f"{UNCLAIMED}:_is_no_read": no}, kept="Agents that develop a Skill look at `git diff`, and agents that watch others look at their screens."),
    Rule("unclaimed content: already on screen", {f"{UNCLAIMED}:SharedScreens.already_shown": lambda *_: set()}, kept="A terminal still shows the file that an earlier command printed."),
    # attribute
    Rule("events: looks before reads", {f"{ATTR}:_without_looks_before_use": same}, kept="Codex asks for the length first: `wc -l SKILL.md && sed -n 1,200p SKILL.md`."),
    Rule("events: repeated in one command", {f"{ATTR}:_without_repeats": same}),
    Rule("events: lost skill folder", {f"{ATTR}:_with_lost_skills": lambda found: sorted((e for e in found if e.location.skill), key=lambda e: (e.file, e.line, e.order))}),
    Rule("events: mentions of what is run", {f"{ATTR}:_without_mentions_of_run_code": list}),
    Rule("events: listings nobody sees", {f"{ATTR}:_is_unseen_listing": no}, kept="Agents loop over `$(ls references)`: the names go into the loop."),
    Rule("events: unconfirmed guesses", {f"{ATTR}:_is_unconfirmed_guess": no}, kept="Agents loop over all references and print the one that fits: the others were not read."),
    Rule("events: shown by a copy", {f"{ATTR}:_is_shown_by_another": no}, kept="Agents copy a file and print the copy in one command: it was shown once."),
)  # fmt: skip
