"""What a sandbox without images cannot do for a task is named before a run."""

import pytest

from skilljuror.harness.unsupported import tasks_requirement, unsupported
from tests.support.harness_tasks import make_task, write_tree

VERIFIER = """#!/bin/bash
apt-get install -y curl > /dev/null
curl -LsSf https://astral.sh/uv/install.sh | sh
uvx --with pytest==8.4.1 pytest /tests/test_outputs.py
"""


@pytest.fixture
def task(tmp_path):
    return make_task(tmp_path / "tea")


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        ("environment/Dockerfile", "FROM x\nRUN pip install y\n", ["environment/Dockerfile: RUN pip install y"]),
        ("environment/Dockerfile", "FROM x\nEXPOSE 80\nCMD sh\n", []),
        ("environment/docker-compose.yaml", "services: {}\n", ["environment/docker-compose.yaml"]),
        ("tests/test.sh", VERIFIER, ["apt-get install -y curl", "curl -LsSf https", "uvx --with"]),
        ("tests/test.sh", "curl http://localhost:8000/health\n# pip install x\npython3 check.py\n", []),
    ],
)  # fmt: skip
def test_each_line_that_is_not_followed_is_named(task, file, text, named):
    write_tree(task, {file: text})
    found = unsupported(task)
    assert [part in line for part, line in zip(named, found, strict=True)] == [True] * len(named)


def test_the_tasks_are_named_with_what_to_do(task, tmp_path):
    other = make_task(tmp_path / "coffee")
    write_tree(other, {"tests/test.sh": VERIFIER})
    refused = tasks_requirement([task, other], ignore=False)
    assert (refused.ready, "1 of 2 tasks" in refused.detail) == (False, True)
    assert "coffee (tests/test.sh, without a network: apt-get install" in refused.detail
    assert "unsupported: ignore" in refused.detail
    assert tasks_requirement([task, other], ignore=True).ready
    assert tasks_requirement([task, other], ignore=False, offline=False).ready
