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


COUNT = "import sys; from skilljuror import tokens; print(tokens.count('hello world'), 'litellm' in sys.modules)"


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
    """Another user may have made any name there first, with links to files of ours."""
    mine = tmp_path / "mine"
    mine.write_text("kept")
    shared = tmp_path / "shared" / f"skilljuror-tiktoken-{os.getuid()}"
    shared.mkdir(parents=True)
    for file_name, _ in tokens.VOCABULARIES.values():
        (shared / file_name).symlink_to(mine)
    assert _counted(TMPDIR=shared.parent).stdout.split() == ["2", "False"]
    assert mine.read_text() == "kept"
    assert [path.name for path in shared.parent.iterdir()] == [shared.name]


def test_a_damaged_vocabulary_is_told_and_left_as_it_is(tmp_path):
    """tiktoken itself would delete it and ask the network."""
    folder = tmp_path / "litellm" / "litellm_core_utils" / "tokenizers"
    folder.mkdir(parents=True)
    (tmp_path / "litellm" / "__init__.py").touch()
    damaged = folder / tokens.VOCABULARIES["o200k_base"][0]
    damaged.write_bytes(b"damaged")
    done = _counted(PYTHONPATH=tmp_path)
    assert str(damaged) in done.stderr
    assert "install litellm again" in done.stderr
    assert damaged.read_bytes() == b"damaged"
