"""From observations to findings: what the parent has too is inherited."""

from skilljuror.audit.gates.findings import Observation, differential, finding


def test_as_many_observations_as_the_parent_has_are_inherited():
    observation = Observation("hygiene.broken-link", "x.md", "a.md", 1)
    told = differential([observation], [observation, observation._replace(file="b.md")])
    assert [(f.file, f.inherited) for f in told] == [("a.md", True), ("b.md", False)]


def test_the_same_finding_keeps_its_id_when_it_moves():
    one = finding(Observation("style.chatter", 1, "a.md", 3, "Text."))
    other = finding(Observation("style.chatter", 1, "b.md", 9, "Text."))
    assert one.id == other.id
    assert one.id != finding(Observation("style.chatter", 1, "a.md", 3, "Words.")).id


def test_a_change_far_into_a_long_text_changes_the_id():
    long = "Boil the water" + " and stir" * 60
    texts = [f"{long} for {minutes} minutes." for minutes in (4, 9)]
    one, other = (finding(Observation("style.chatter", 1, "a.md", 3, text)) for text in texts)
    assert one.id != other.id
    assert len(one.variant_text or "") <= 300
