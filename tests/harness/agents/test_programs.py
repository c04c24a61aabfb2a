"""Where programs lie, and what they need shown."""

import pytest

from skilljuror.base.errors import UsageError
from skilljuror.harness.agents.programs import installed
from tests.support.harness_tasks import write_tree

SAYS = "#!/bin/sh\necho 1.2.3\necho more\n"


def place(base, name, text=SAYS):
    """A program at `name` below `base`."""
    path = write_tree(base, {name: text}) / name
    path.chmod(0o755)
    return path


def test_a_program_of_its_own_is_shown_alone_and_under_its_real_name(tmp_path):
    file = place(tmp_path, "share/versions/1.2.3")
    link = tmp_path / "tool"
    link.symlink_to(file)
    found = installed("a", str(link), "get it")
    assert (found.argv, found.shown, found.version) == ((str(file),), (file,), "1.2.3")


def test_a_program_of_npm_is_shown_with_all_packages_beside_it(tmp_path):
    file = place(tmp_path, "lib/node_modules/@x/tool/node_modules/y/cli.js")
    found = installed("a", str(file), "get it")
    assert found.shown == (tmp_path / "lib/node_modules",)


def test_node_is_named_by_its_place_as_the_sandbox_may_not_have_it_on_its_path(
    tmp_path, monkeypatch
):
    node = place(tmp_path, "node-22/bin/node")
    script = place(tmp_path, "node-22/lib/node_modules/tool/cli.js", "#!/usr/bin/env node\n")
    monkeypatch.setenv("PATH", f"{node.parent}:/usr/bin:/bin")
    found = installed("a", str(script), "get it")
    assert found.argv == (str(node), str(script))
    assert found.shown == (node, tmp_path / "node-22/lib/node_modules")


def test_a_program_of_a_virtual_environment_is_shown_with_that_and_its_python(tmp_path):
    """A link to that Python may be in ~/.local/bin, next to what no agent may read."""
    python, local = place(tmp_path, "python/bin/python3"), tmp_path / ".local/bin/python3"
    settings = f"home = {local.parent}\nversion = 3.12\n"
    write_tree(tmp_path, {"venv/pyvenv.cfg": settings, ".local/bin/secret": ""})
    tool = place(tmp_path, "venv/bin/tool")
    (tmp_path / "venv/bin/python").symlink_to("python3")
    (tmp_path / "venv/bin/python3").symlink_to(local)
    local.symlink_to(python)
    assert installed("a", str(tool), "get it").shown == (
        tmp_path / "venv",
        local,
        tmp_path / "python",
    )


def test_a_program_of_the_system_needs_nothing_shown():
    assert installed("a", "/usr/bin/env", "get it").shown == ()


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("codex-cli 0.169.0", "0.169.0"),
        ("2.1.197 (Claude Code)", "2.1.197"),
        ("v1.0-beta.2", "1.0-beta.2"),
        ("nightly", "nightly"),
        ("", "unknown"),
    ],
)
def test_the_version_is_the_number_of_what_it_says(tmp_path, said, version):
    file = place(tmp_path, "tool", f"#!/bin/sh\necho '{said}'\n")
    assert installed("a", str(file), "get it").version == version


def test_a_program_that_does_not_tell_its_version_is_refused(tmp_path):
    file = place(tmp_path, "tool", "#!/bin/sh\nexit 3\n")
    with pytest.raises(UsageError, match=r"tool --version' does not print its version: .*status 3"):
        installed("a", str(file), "get it")
