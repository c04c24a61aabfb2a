import pytest

from skilljuror.errors import HarnessError
from skilljuror.harnesses.harbor.program import find_harbor
from tests.support.cli_process import call, complaint
from tests.support.studies import PACKAGED, make_study


def fake(folder, version):
    """A program that calls itself a Harbor of some version."""
    path = folder / "harbor"
    path.write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


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
    path = tmp_path / "harbor"
    path.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    path.chmod(0o755)
    with pytest.raises(HarnessError, match="does not print its version"):
        find_harbor(str(path))
