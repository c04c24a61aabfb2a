"""How a Skill was generated: one line of generation.jsonl."""

from typing import Literal

from msgspec import Struct

Generator = Literal["creator", "prompt", "outline", "command"]


class Generation(Struct, frozen=True, kw_only=True):
    """One row of `generations`; its columns say what the fields mean."""

    skill: str
    task: str | None = None
    trial: str | None = None
    by: Generator
    agent: str | None = None
    model: str | None = None
    version: str | None = None
    scripted: bool = False
    source: str
    source_digest: str
    source_commit: str | None = None
    order_digest: str
    token_limit: int | None = None
    refused: str | None = None
    tree_digest: str | None = None
    skills: tuple[str, ...] = ()
    tokens: int | None = None
    source_tokens: int | None = None
    units: int | None = None
    grounded: int | None = None
    source_units: int | None = None
    carried: int | None = None
    leak: str | None = None
    leak_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    usage_reason: str | None = None
