"""A bundle in a tar file, and tar files that hold no bundle."""

import tarfile

import pytest

from skilljuror.base.errors import BundleError
from skilljuror.base.skill import Blob
from skilljuror.layouts.build.folder import load_tar, tar_of
from skilljuror.skill.bundles import make_bundle

ROOT = Blob(b"---\nname: kiln\ndescription: Fire clay.\n---\nFire it.\n")
FILES = {"kiln/SKILL.md": ROOT, "kiln/fire.py": Blob(b"print()\n", executable=True)}


def test_a_bundle_comes_back_with_its_execute_bits(tmp_path):
    (tmp_path / "source.tar").write_bytes(tar_of(make_bundle("kiln", FILES)))
    assert load_tar(tmp_path / "source.tar", "kiln").files == FILES


@pytest.mark.parametrize("what", ["a path out of it", "a link", "a torn end", "no tar file"])
def test_a_tar_file_that_holds_no_bundle_is_refused(tmp_path, what):
    path = tmp_path / "source.tar"
    data = tar_of(make_bundle("kiln", FILES))
    if what.startswith("a torn"):
        path.write_bytes(data[:600])
    elif what == "no tar file":
        path.write_bytes(b"Fire it.\n" * 100)
    else:
        member = tarfile.TarInfo("kiln/../../SKILL.md" if "path" in what else "kiln/SKILL.md")
        member.type = tarfile.SYMTYPE if what == "a link" else tarfile.REGTYPE
        with tarfile.open(path, "w") as archive:
            archive.addfile(member)
    with pytest.raises(BundleError):
        load_tar(path, "kiln")
