import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.base.errors import StudyError
from skilljuror.base.files import digest_tree
from skilljuror.base.skill import Blob, tree_digest
from tests.support.harness_tasks import write_tree

NAMES = st.sampled_from(["a", "b.md", "A", "ä", "c/d", "c/e/f", "c-d", "z/SKILL.md"])
FILES = st.dictionaries(NAMES, st.builds(Blob, st.binary(max_size=9), st.booleans()))


@given(FILES)
def test_a_folder_has_the_digest_of_the_bundle_it_holds(tmp_path_factory, files):
    folder = tmp_path_factory.mktemp("tree")
    for name, blob in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(blob.data)
        path.chmod(0o755 if blob.executable else 0o644)
    assert digest_tree(folder) == tree_digest(files)


def test_skipped_names_count_only_at_the_top(tmp_path):
    write_tree(tmp_path, {"a": "1", "b/skills/x": "2"})
    before = digest_tree(tmp_path, skip={"skills"})
    write_tree(tmp_path, {"skills/x": "3"})
    assert digest_tree(tmp_path, skip={"skills"}) == before != digest_tree(tmp_path)
    write_tree(tmp_path, {"b/skills/x": "4"})
    assert digest_tree(tmp_path, skip={"skills"}) != before


def test_a_link_counts_by_its_target_and_is_not_followed(tmp_path):
    host = write_tree(tmp_path / "host", {"secret": "1"})
    tree = write_tree(tmp_path / "tree", {"a": "1"})
    (tree / "link").symlink_to(host)
    before = digest_tree(tree)
    write_tree(host, {"secret": "2"})
    assert digest_tree(tree) == before
    (tree / "link").unlink()
    (tree / "link").symlink_to("elsewhere")
    assert digest_tree(tree) != before


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StudyError, match="not a regular file"):
        digest_tree(tmp_path)


def test_a_missing_folder_is_not_an_empty_one(tmp_path):
    with pytest.raises(StudyError, match="is not a folder"):
        digest_tree(tmp_path / "absent")
