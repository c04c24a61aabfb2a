"""The tokenizer as its publisher defines it: tiktoken's own, with the vocabulary in litellm's wheel."""

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any


@cache
def published_encoding() -> Any:
    """o200k_base as tiktoken makes it."""
    import tiktoken

    spec = find_spec("litellm")
    assert spec
    assert spec.origin
    os.environ["TIKTOKEN_CACHE_DIR"] = str(
        Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
    )
    try:
        return tiktoken.get_encoding("o200k_base")
    finally:
        del os.environ["TIKTOKEN_CACHE_DIR"]
