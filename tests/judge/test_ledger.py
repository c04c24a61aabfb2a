from skilljuror.judge.replay.content_ownership import Ledger

A, B, AGAIN = (0,), (1,), (2,)


def ledger():
    """A and AGAIN show one resource, B another."""
    return Ledger(lambda one, other: {one, other} <= {A, AGAIN})


def test_the_first_resource_owns_and_keeps():
    book = ledger()
    book.show(A, ["x"], step=1)
    book.show(B, ["x"], step=2)
    assert book.use(["x"]) == ({"x": A}, {})


def test_neither_owns_what_two_resources_show_in_one_step():
    book = ledger()
    book.show(A, ["x"], step=1)
    book.show(B, ["x"], step=1)
    assert book.use(["x"]) == ({}, {"x": A})


def test_what_was_heard_before_belongs_to_nobody():
    book = ledger()
    book.hear(["x"])
    book.show(A, ["x"], step=1)
    assert book.use(["x"]) == ({}, {})


def test_what_the_agent_wrote_before_belongs_to_nobody():
    book = ledger()
    book.use(["x"])
    book.show(A, ["x"], step=1)
    assert book.use(["x"]) == ({}, {})


def test_an_echo_after_the_use_changes_nothing():
    book = ledger()
    book.show(A, ["x"], step=1)
    book.use(["x"])
    book.hear(["x"])
    assert book.use(["x"]) == ({"x": A}, {})


def test_a_second_showing_takes_over_what_was_not_used():
    book = ledger()
    book.show(A, ["x", "y"], step=1)
    book.use(["y"])
    book.show(AGAIN, ["x", "y"], step=2)
    assert book.use(["x", "y"])[0] == {"x": AGAIN, "y": A}


def test_forgetting_makes_results_new_again_and_prompts_not():
    book = ledger()
    book.hear(["result"])
    book.hear(["prompt"], lasting=True)
    book.forget()
    book.show(A, ["result", "prompt"], step=3)
    assert book.use(["result", "prompt"])[0] == {"result": A}


def test_a_summary_takes_nothing_away():
    book = ledger()
    book.show(A, ["x"], step=1)
    book.forget()
    book.summarise(["x", "new"])
    book.show(B, ["new"], step=2)
    assert book.use(["x", "new"])[0] == {"x": A}


def test_used_before_forgetting_can_be_shown_and_used_again():
    book = ledger()
    book.show(A, ["x"], step=1)
    book.use(["x"])
    book.forget()
    book.show(AGAIN, ["x"], step=5)
    assert book.use(["x"])[0] == {"x": AGAIN}
