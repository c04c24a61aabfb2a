"""Tokens are counted offline, exactly where the vocabulary is at hand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skilljuror import tokens
from skilljuror.errors import UsageError

PROSE = Path(tokens.__file__).read_text(encoding="utf-8")


def test_counts_are_exact_and_named():
    assert tokens.available()
    assert tokens.tokenizer_name().startswith("o200k_base/")
    assert tokens.count("hello world") == 2
    assert tokens.count("") == 0


def test_special_tokens_in_a_text_are_just_text():
    assert tokens.count("<|endoftext|>") > 1


def test_the_estimate_is_near_on_code():
    assert tokens.estimate(PROSE) == pytest.approx(tokens.count(PROSE), rel=0.2)


def test_an_unknown_tokenizer_is_refused():
    with pytest.raises(UsageError, match="o200k_base"):
        tokens.count("x", "gpt-7")


def test_counting_needs_no_network_and_no_litellm(tmp_path):
    script = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise OSError('no network here')\n"
        "socket.socket.connect = refuse\n"
        "from skilljuror import tokens\n"
        "print(tokens.count('hello world'), 'litellm' in sys.modules)\n"
    )
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["2", "False"]
