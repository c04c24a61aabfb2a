"""A model that answers the items of the rubric, and builds for it to judge."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skilljuror.base.llm import ModelClient
from skilljuror.layouts.build.build import build_source
from skilljuror.skill.bundles import write_bundle
from tests.support.scripted_model import blocks, choice, source

ROOT_LINE = "Fill forms without losing a value."
"""A line of the source that stands in the root of every variant."""


def build_at(
    folder: Path, changes: Mapping[str, str] | None = None, variants: str = "baseline,pd"
) -> Path:
    """A build of the forms skill, texts of its root replaced by others."""
    write_bundle(source(changes).files, folder / "source")
    build_source(folder / "source" / "forms", folder / "out", variants=tuple(variants.split(",")))
    return folder / "out"


def asked_items(body: Mapping[str, Any]) -> list[str]:
    """The items that a question asks."""
    last = body["messages"][1]["content"].splitlines()[-1]
    return str(last).removesuffix(".").partition(": ")[2].split(", ")


def files_shown(body: Mapping[str, Any], side: str = "candidate") -> dict[str, Any]:
    """file -> what a question tells of it."""
    return {row["file"]: row for row in blocks(body["messages"])[side]}


def verdict(item: str, answer: str = "yes", quote: str | None = ROOT_LINE) -> dict[str, Any]:
    """One verdict, with a quote of the root."""
    quotes = [{"side": "candidate", "file": "forms/SKILL.md", "text": quote}] if quote else []
    return {"item": item, "answer": answer, "evidence": f"{item} stands.", "quotes": quotes}


def answers(body: Mapping[str, Any], **changes: dict[str, Any]) -> str:
    """A good answer to all items; `changes` (item in lower case with _) replace fields of a verdict."""
    verdicts = [
        verdict(item) | changes.get(item.lower().replace("-", "_"), {})
        for item in asked_items(body)
    ]
    return json.dumps({"verdicts": verdicts})


def client(address: str, calls: Path | None = None, retries: int = 0) -> ModelClient:
    """A client of the scripted model that asks once."""
    return ModelClient(choice(address, retries), calls)
