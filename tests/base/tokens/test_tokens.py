"""Tokens are counted offline, exactly where the vocabulary is at hand."""

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from skilljuror.base import texts
from skilljuror.base.errors import UsageError
from tests.support.tokenizer import published_encoding

PROSE = Path(texts.__file__).read_text(encoding="utf-8")


def test_counts_are_exact_and_named():
    assert texts.tokenizer_name().startswith("o200k_base/")
    assert texts.count("hello world") == 2
    assert texts.count("") == 0


def test_the_packaged_vocabulary_is_the_published_one():
    """litellm brings the file under the name that tiktoken looks for."""
    published, ours = published_encoding(), texts._encoder()
    assert ours._mergeable_ranks == published._mergeable_ranks
    assert ours._pat_str == published._pat_str


def test_special_tokens_in_a_text_are_just_text():
    assert texts.count("<|endoftext|>") > 1


def test_the_estimate_is_near_on_code():
    assert texts.estimate(PROSE) == pytest.approx(texts.count(PROSE), rel=0.2)


COUNT = "import sys; from skilljuror.base import texts; print(texts.count('hello world'), 'litellm' in sys.modules)"


def _counted(
    before: tuple[str, ...] = (), **environment: str | Path
) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **{key: str(value) for key, value in environment.items()}}
    return subprocess.run(
        [*before, sys.executable, "-c", COUNT], env=env, capture_output=True, text=True, check=False
    )


def _needs_namespaces():
    tried = subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("this machine makes no network namespace")


def test_counting_needs_no_network_and_no_litellm(tmp_path):
    _needs_namespaces()
    done = _counted(("unshare", "-rn"), TMPDIR=tmp_path)
    assert done.stdout.split() == ["2", "False"], done.stderr


def test_counting_leaves_the_temporary_folder_alone(tmp_path):
    assert _counted(TMPDIR=tmp_path).stdout.split() == ["2", "False"]
    assert not list(tmp_path.iterdir())


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "cut": lambda whole: whole[: len(whole) // 2],
    "flipped": lambda whole: whole[:4000] + bytes([whole[4000] ^ 1]) + whole[4001:],
    "other": lambda whole: gzip.compress(b"YQ== 0"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_vocabulary_is_named(monkeypatch, tmp_path, damage):
    damaged = tmp_path / "vocabulary.gz"
    damaged.write_bytes(damage(texts.VOCABULARY.read_bytes()))
    monkeypatch.setattr(texts, "VOCABULARY", damaged)
    with pytest.raises(
        UsageError, match=r"vocabulary\.gz' is missing or damaged: install skilljuror"
    ):
        texts._ranks()
