"""Prepare log lines for a ticket: mask what is personal, and name the problem they belong to."""

from pathlib import Path


def redact(line):
    """The line with everything personal masked, as operations defines it."""
    ...


def group_key(line):
    """Text that is equal for lines of one problem, as operations defines it."""
    ...


def main():
    lines = Path("sample.log").read_text(encoding="utf-8").splitlines()
    masked = [str(redact(line)) for line in lines]
    Path("ticket.log").write_text("\n".join(masked) + "\n", encoding="utf-8")
    problems = {str(group_key(line)) for line in masked}
    print(f"ticket.log: {len(masked)} lines, {len(problems)} problems")


if __name__ == "__main__":
    main()
