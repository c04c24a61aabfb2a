"""Outputs that are a picture of a terminal."""

from skilljuror.events.evidence import screen_output


def test_a_screen_is_cut_to_what_the_command_printed():
    text = "New Terminal Output:\nroot@vm:/a# cat x\none\ntwo\nroot@vm:/a# ls\nx\n\n\n"
    assert screen_output(text, "cat x\n") == "one\ntwo"
    assert screen_output("New Terminal Output:\none\n\n", "cat x") == "one"
