import pytest

from skilljuror.base.errors import HarnessError
from skilljuror.harness.harbor.program import HarborProgram, find_harbor
from tests.support.cli_process import call, complaint
from tests.support.harbor_venv import HARBOR, PYTHON, needs_harbor
from tests.support.studies import PACKAGED, make_study


def fake(folder, version):
    """A program beside a Python that says it has a Harbor of some version."""
    for name in ("harbor", "python"):
        (folder / name).write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder / "harbor"


def test_the_program_that_the_study_names_is_asked_for_its_version(tmp_path):
    found = find_harbor(str(fake(tmp_path, "0.25.3")))
    assert (found.version, found.skills_root) == ("0.25.3", "/runtime/skills")


@pytest.mark.parametrize("version", ["0.23.0", "0.26.0", "1.0.0", "unknown"])
def test_another_version_is_refused(tmp_path, version):
    with pytest.raises(HarnessError, match=rf"is Harbor {version}, and .* 0.24 and 0.25; install"):
        find_harbor(str(fake(tmp_path, version)))


def test_a_program_that_is_not_there_is_one_line(tmp_path):
    harbor = {"name": "harbor", "options": {"program": str(tmp_path / "none")}}
    study = make_study(tmp_path, packaged=PACKAGED, harness=harbor)
    line = complaint(call("run", study, "--out", tmp_path / "out"))
    assert "no program `harbor`" in line
    assert "uv tool install" in line
    assert not (tmp_path / "out").exists()


def test_a_program_that_fails_is_refused(tmp_path):
    path = fake(tmp_path, "0.25.3")
    (tmp_path / "python").write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    with pytest.raises(HarnessError, match="does not print its version"):
        find_harbor(str(path))


@needs_harbor
def test_the_python_of_its_first_line_is_asked_where_none_is_beside_it(tmp_path):
    path = tmp_path / "harbor"
    path.write_text(f"#!{PYTHON}\n", encoding="utf-8")
    path.chmod(0o755)
    assert find_harbor(str(path)) == HarborProgram(PYTHON, find_harbor(str(HARBOR)).version)


def test_a_program_of_no_python_is_refused(tmp_path):
    path = fake(tmp_path, "0.25.3")
    (tmp_path / "python").unlink()
    with pytest.raises(HarnessError, match="no Python beside it or in its first line; install"):
        find_harbor(str(path))
