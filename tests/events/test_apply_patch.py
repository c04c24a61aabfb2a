"""Files of an `apply_patch` envelope."""

from skilljuror.events.commands import patch_accesses


def test_a_patch_without_a_file_touches_nothing():
    assert patch_accesses("*** Begin Patch\n@@\n-a\n+b\n*** End Patch", "/w") == []


def test_files_of_a_patch_in_order():
    patch = "*** Begin Patch\n*** Update File: a.md\n@@\n-x\n+y\n*** Move to: b.md\n*** Add File: c.py\n+one\n+two\n*** Delete File: d\n*** End Patch"
    assert [(one.path, one.kind, one.written) for one in patch_accesses(patch, "/w")] == [
        ("/w/a.md", "edit", None),
        ("/w/b.md", "write", ""),
        ("/w/c.py", "write", "one\ntwo"),
        ("/w/d", "edit", None),
    ]
