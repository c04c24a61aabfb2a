"""Write the generated pages: cli.md, schema.md and study-schema.json (`make docs`)."""

import json
import sys
from pathlib import Path

import typer
from typer.main import get_command

from skilljuror.cli.main import app
from skilljuror.models.study import StudyConfig
from skilljuror.store.schema import describe

FOLDER = Path(__file__).parent


def cli_page() -> str:
    """Every command's own help."""
    group = get_command(app)
    root = typer.Context(group, info_name="skilljuror", terminal_width=100)
    parts = [
        "# Command line\n",
        "Generated from the commands' own help by `make docs`.\n",
        "Exit status: 0 done · 1 the check says no · 2 bad input or usage · 3 a person must decide.\n",
        f"```\n{group.get_help(root)}\n```\n",
    ]
    for name in group.list_commands(root):  # type: ignore[attr-defined]
        command = group.get_command(root, name)  # type: ignore[attr-defined]
        context = typer.Context(command, info_name=name, parent=root, terminal_width=100)
        parts.append(f"## skilljuror {name}\n\n```\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """Name -> content of every generated page."""
    schema = json.dumps(StudyConfig.model_json_schema(), indent=2, ensure_ascii=False)
    return {"cli.md": cli_page(), "schema.md": describe(), "study-schema.json": schema + "\n"}


def main() -> int:
    """Write the pages; with --check only say which are out of date."""
    stale = []
    for name, text in pages().items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    print("out of date: " + ", ".join(stale) if stale else "docs are up to date")  # noqa: T201
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
