"""Tokens counted offline, and fingerprints of texts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skilljuror.base import texts
from skilljuror.base.errors import UsageError
from skilljuror.base.texts import DISTINCT, RUN, Fingerprints, copies, texts_below, tokenize
from tests.support.harness_tasks import write_tree
from tests.support.places import EXAMPLES
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


def test_a_damaged_vocabulary_is_named(monkeypatch, tmp_path):
    damaged = tmp_path / "vocabulary.gz"
    damaged.write_bytes(texts.VOCABULARY.read_bytes()[:4000])
    monkeypatch.setattr(texts, "VOCABULARY", damaged)
    with pytest.raises(
        UsageError, match=r"vocabulary\.gz' is missing or damaged: install skilljuror"
    ):
        texts._encoder.__wrapped__()


# A text is known again by runs of its words, and nothing else is.


PAGE = (EXAMPLES / "skills/shop-reporting/shop-exports/references/ledger-pages.md").read_text()
OTHER = (EXAMPLES / "skills/signal-lab/tone-search/references/windows.md").read_text()
PRINTS = Fingerprints.of(tokenize(PAGE))


@pytest.mark.parametrize(
    "shown",
    [
        PAGE,
        " ".join(PAGE.split()),
        PAGE.upper(),
        json.dumps({"body": PAGE}),
        json.dumps(json.dumps([PAGE])),
        "\n".join(f"{number:6}\t{line}" for number, line in enumerate(PAGE.splitlines(), 1)),
        "\n".join(f"{number:6}→{line}" for number, line in enumerate(PAGE.splitlines(), 1)),
        "\n".join(f"a/b.md:{number}:{line}" for number, line in enumerate(PAGE.splitlines(), 1)),
        "\n".join(f"# {line}" for line in PAGE.splitlines()),
        "\x1b[32m" + PAGE.replace("\n", "\x1b[0m\n\x1b[1;31m"),
        PAGE.replace("`", "**").replace(" ", "  "),
    ],
)
def test_form_changes_nothing(shown):
    assert PRINTS.found_in([shown]) == PRINTS.digests
    assert len(PRINTS.digests) > 100


def test_another_text_holds_none():
    assert PRINTS.found_in([OTHER]) == frozenset()


def test_a_run_needs_words_enough_and_different_ones():
    words = [f"word{number}" for number in range(RUN)]
    assert len(Fingerprints.of(words).digests) == 1
    assert Fingerprints.of(words[:-1]).digests == frozenset()
    few = [f"word{number % (DISTINCT - 1)}" for number in range(RUN)]
    assert Fingerprints.of(few).digests == frozenset()


def test_only_texts_are_read(tmp_path):
    write_tree(tmp_path, {"b.md": "b", "a/c.txt": "c", "skills/s.md": "s"})
    (tmp_path / "d.bin").write_bytes(b"\xff\xfe")
    (tmp_path / "e.txt").write_bytes(b"text\0")
    (tmp_path / "link.md").symlink_to(Path("b.md"))
    assert texts_below(tmp_path, skip="skills") == {"a/c.txt": "c", "b.md": "b"}


def test_half_of_a_text_is_a_copy_and_less_is_none():
    words = [f"word{number}" for number in range(100)]
    text, half = " ".join(words), " ".join(words[:58])
    held = {"half.txt": half, "less.txt": " ".join(words[:50]), "other.txt": OTHER}
    assert list(copies({"page.md": text, "short.md": "word1 word2"}, held)) == [
        ("half.txt", "page.md")
    ]
