"""A condition as one trial has it: with `{number}` in its Skill's path, each trial has a Skill of its own."""

from skilljuror.base.models.study import Condition, StudyConfig

NUMBER = "{number}"


def arm_at(arm: Condition, number: int) -> Condition:
    """Return the condition of the n-th trial; with a Skill of its own, its name ends with the number."""
    if not (arm.skill and NUMBER in arm.skill.path):
        return arm
    skill = arm.skill.model_copy(update={"path": arm.skill.path.replace(NUMBER, str(number))})
    return arm.model_copy(update={"name": f"{arm.name}-{number}", "skill": skill})


def trial_arms(config: StudyConfig) -> list[Condition]:
    """Return the conditions; one with a Skill per trial is there once per trial."""
    arms: list[Condition] = []
    for arm in config.conditions:
        own = arm_at(arm, 1) is not arm
        arms += [arm_at(arm, n + 1) for n in range(config.trials_per_cell if own else 1)]
    return arms
