"""Programs that agents use on files, by their output."""

WHOLE_READERS: dict[str, frozenset[str]] = {
    "cat": frozenset(),
    "bat": frozenset({"-l", "--language", "--style", "--theme", "-r", "--line-range", "--paging", "--color"}),
    "batcat": frozenset({"-l", "--language", "--style", "-r", "--line-range"}),
    "nl": frozenset({"-b", "-w", "-s", "-n", "-v", "-i"}),
    "less": frozenset(),
    "more": frozenset(),
    "tac": frozenset(),
    "view": frozenset(),
    "strings": frozenset({"-n"}),
    "type": frozenset(),
    "Get-Content": frozenset({"-TotalCount", "-Tail", "-Encoding"}),
}  # fmt: skip
"""Programs that print whole files -> their options with a value."""
PARTIAL_READERS: dict[str, tuple[frozenset[str], int]] = {
    "awk": (frozenset({"-F", "-v", "-f"}), 1),
    "cut": (frozenset({"-d", "-f", "-c", "-b"}), 0),
    "sort": (frozenset({"-k", "-t", "-o"}), 0),
    "uniq": (frozenset({"-f", "-s", "-w"}), 0),
    "column": (frozenset({"-s", "-c", "-o", "-N"}), 0),
    "tr": (frozenset(), 9),
    "jq": (frozenset({"--arg", "--argjson", "-f", "--indent"}), 1),
    "yq": (frozenset({"-o", "-p"}), 1),
    "xmllint": (frozenset({"--xpath"}), 0),
    "diff": (frozenset({"-U", "-C"}), 0),
    "comm": (frozenset(), 0),
    "xxd": (frozenset({"-l", "-s", "-c"}), 0),
    "od": (frozenset({"-A", "-t", "-N"}), 0),
    "hexdump": (frozenset({"-n", "-s"}), 0),
    "base64": (frozenset({"-w"}), 0),
    "pdftotext": (frozenset({"-f", "-l"}), 0),
    "pandoc": (frozenset({"-f", "-t", "-o", "--from", "--to", "--output"}), 0),
}
"""Programs that print part or another form of a file -> (options with a value, operands before the
files). `tr` takes no files."""
METADATA_PROGRAMS = frozenset(
    {"ls", "tree", "stat", "file", "wc", "du", "md5sum", "sha256sum", "sha1sum",
     "shasum", "realpath", "readlink", "exa", "eza", "lsd", "dir", "fd", "fdfind", "find", "cksum"}
)  # fmt: skip
"""Programs that print names, sizes or digests but no content."""
NON_READERS = frozenset(
    {":", "git", "echo", "printf", "cd", "pushd", "popd", "export", "mkdir", "rmdir", "chmod", "chown", "rm",
     "touch", "ln", "set", "unset", "alias", "which", "whereis", "kill", "sleep", "true", "false", "exit",
     "return", "basename", "dirname", "read", "for", "case", "source-highlight", "tmux", "screen",
     "workmux", "gh", "bd", "npm", "yarn", "pnpm", "pip", "pip3", "apt", "apt-get", "brew", "docker",
     "open", "code", "vim", "nano", "curl", "wget", "ssh", "scp", "rsync", "zip", "tar", "trap", "wait",
     "test", "[", "[[", "history", "man", "id", "whoami", "date", "cmp", "tee", "hash", "type", "command", "tmutil"}
)  # fmt: skip
"""Programs whose operands are never accesses to a bundle's content."""
NO_OUTPUT = frozenset(
    {"cd", "pushd", "popd", "export", "mkdir", "rmdir", "chmod", "chown", "cp", "mv", "rm", "touch", "ln",
     "set", "unset", "alias", "sleep", "true", "false", "exit", "return", "read", "test", "[", "[[", "trap",
     "wait", "kill", "source", ".", ":", "tee", "install"}
)  # fmt: skip
"""Programs without output on success."""
