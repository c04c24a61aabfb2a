from skilljuror.judge.replay.content_ownership import ContentOwnership

A, B, AGAIN = (0,), (1,), (2,)


def ownership():
    """A and AGAIN show one resource, B another."""
    return ContentOwnership(lambda one, other: {one, other} <= {A, AGAIN})


def test_the_first_resource_owns_and_keeps():
    owners = ownership()
    owners.shown(A, ["x"], step=1)
    owners.shown(B, ["x"], step=2)
    assert owners.used(["x"]) == ({"x": A}, {})


def test_neither_owns_what_two_resources_show_in_one_step():
    owners = ownership()
    owners.shown(A, ["x"], step=1)
    owners.shown(B, ["x"], step=1)
    assert owners.used(["x"]) == ({}, {"x": A})


def test_what_was_said_before_belongs_to_nobody():
    owners = ownership()
    owners.said_elsewhere(["x"])
    owners.shown(A, ["x"], step=1)
    assert owners.used(["x"]) == ({}, {})


def test_what_the_agent_wrote_before_belongs_to_nobody():
    owners = ownership()
    owners.used(["x"])
    owners.shown(A, ["x"], step=1)
    assert owners.used(["x"]) == ({}, {})


def test_an_echo_after_the_use_changes_nothing():
    owners = ownership()
    owners.shown(A, ["x"], step=1)
    owners.used(["x"])
    owners.said_elsewhere(["x"])
    assert owners.used(["x"]) == ({"x": A}, {})


def test_a_second_showing_takes_nothing_from_the_first():
    owners = ownership()
    owners.shown(A, ["x", "y"], step=1)
    owners.used(["y"])
    owners.shown(AGAIN, ["x", "y", "z"], step=2)
    assert owners.used(["x", "y", "z"])[0] == {"x": A, "y": A, "z": AGAIN}


def test_another_line_of_the_same_resource_takes_over_and_a_line_shown_before_does_not():
    owners = ownership()
    owners.shown(A, ["x", "y"], 1, {"x": "see x", "y": "first y"}, ["see x", "first y", "then y"])
    owners.shown(
        AGAIN, ["x", "y"], 2, {"x": "x once more", "y": "then y"}, ["x once more", "then y"]
    )
    assert owners.used(["x", "y"])[0] == {"x": AGAIN, "y": A}


def test_a_second_showing_after_a_compaction_takes_over_what_was_not_used():
    owners = ownership()
    owners.shown(A, ["x"], step=1)
    owners.compact()
    owners.shown(AGAIN, ["x"], step=5)
    assert owners.used(["x"])[0] == {"x": AGAIN}


def test_a_compaction_makes_results_new_again_and_prompts_not():
    owners = ownership()
    owners.said_elsewhere(["result"])
    owners.said_elsewhere(["prompt"], survives=True)
    owners.compact()
    owners.shown(A, ["result", "prompt"], step=3)
    assert owners.used(["result", "prompt"])[0] == {"result": A}


def test_a_summary_takes_nothing_away():
    owners = ownership()
    owners.shown(A, ["x"], step=1)
    owners.compact()
    owners.summarised(["x", "new"])
    owners.shown(B, ["new"], step=2)
    assert owners.used(["x", "new"])[0] == {"x": A}


def test_used_before_a_compaction_can_be_shown_and_used_again():
    owners = ownership()
    owners.shown(A, ["x"], step=1)
    owners.used(["x"])
    owners.compact()
    owners.shown(AGAIN, ["x"], step=5)
    assert owners.used(["x"])[0] == {"x": AGAIN}
