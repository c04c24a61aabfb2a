"""A bundle in a tar file, and tar files that hold no bundle."""

import io
import tarfile

import pytest

from skilljuror.base.errors import BundleError
from skilljuror.base.skill import Blob
from skilljuror.skill.bundles.reader import load_tar, make_bundle, tar_of

ROOT = Blob(b"---\nname: kiln\ndescription: Fire clay.\n---\nFire it.\n")
FILES = {"kiln/SKILL.md": ROOT, "kiln/fire.py": Blob(b"print()\n", executable=True)}


def archive_of(*members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, changes in members:
            member = tarfile.TarInfo(name)
            for field, value in changes.items():
                setattr(member, field, value)
            archive.addfile(member, io.BytesIO(b"\0" * member.size))
    return buffer.getvalue()


def headers_that_lead_to_headers():
    """Extended headers one after the other, which a reader takes one inside the other."""
    member = tarfile.TarInfo("kiln/SKILL.md")
    member.pax_headers = {"comment": "again"}
    header = member.tobuf(tarfile.PAX_FORMAT)[:-512]
    return header * 3000 + member.tobuf(tarfile.USTAR_FORMAT)


HOSTILE = {
    "a path out of it": archive_of(("kiln/../../SKILL.md", {})),
    "an absolute path": archive_of(("/kiln/SKILL.md", {})),
    "a symbolic link": archive_of((
        "kiln/SKILL.md",
        {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
    )),
    "a hard link": archive_of(("kiln/SKILL.md", {"type": tarfile.LNKTYPE, "linkname": "a"})),
    "a device": archive_of(("kiln/SKILL.md", {"type": tarfile.CHRTYPE})),
    "a folder": archive_of(("kiln", {"type": tarfile.DIRTYPE})),
    "one file twice": archive_of(("kiln/SKILL.md", {}), ("kiln/SKILL.md", {})),
    "a file too large": archive_of(("kiln/SKILL.md", {"size": 9 << 20})),
    "headers without end": headers_that_lead_to_headers(),
    "a torn end": tar_of(make_bundle("kiln", FILES))[:600],
    "no tar file": b"Fire it.\n" * 100,
}


def test_a_bundle_comes_back_with_its_execute_bits(tmp_path):
    (tmp_path / "source.tar").write_bytes(tar_of(make_bundle("kiln", FILES)))
    assert load_tar(tmp_path / "source.tar", "kiln").files == FILES


@pytest.mark.parametrize("what", HOSTILE)
def test_a_tar_file_that_holds_no_bundle_is_refused(tmp_path, what):
    (tmp_path / "source.tar").write_bytes(HOSTILE[what])
    with pytest.raises(BundleError):
        load_tar(tmp_path / "source.tar", "kiln")
