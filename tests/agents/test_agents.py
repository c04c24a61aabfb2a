import pytest

from skilljuror.agents import AGENTS
from skilljuror.errors import UsageError
from skilljuror.models.agent import AgentProgram
from skilljuror.registry import resolve


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_every_agent_is_a_program_whose_files_exist(name):
    program = resolve(AGENTS, name, "agent")({}, None)
    assert isinstance(program, AgentProgram)
    assert program.version
    assert all(file.is_file() for file in program.files)
    assert len({file.name for file in program.files}) == len(program.files)


def test_the_scripted_agent_says_that_it_has_no_model():
    program = resolve(AGENTS, "scripted", "agent")({}, None)
    assert program.scripted
    assert (program.model, program.usage_reason) == (None, "no_model")
    assert {"{instruction}", "{logs}", "{skills}", "{seed}"} <= set(program.argv)


@pytest.mark.parametrize(("options", "model"), [({"budget": 3}, None), ({}, "some-model")])
def test_options_and_models_are_refused_by_name(options, model):
    with pytest.raises(UsageError, match=r"budget|some-model"):
        resolve(AGENTS, "scripted", "agent")(options, model)
