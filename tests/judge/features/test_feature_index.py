from skilljuror.judge.features.feature_index import FeatureIndex

NOTHING_COMMON = frozenset[str]()


def test_a_folder_that_a_source_names_is_found_inside_a_longer_path():
    index = FeatureIndex(NOTHING_COMMON)
    index.add_source((0,), ["Conventions go to docs/solutions/conventions."], listing=False)
    hits = index.find(["+++ b/docs/solutions/conventions/new-rule.md"])
    assert sum(index.weights[feature] for feature in hits) == 3


def test_what_was_offered_is_found_and_quoted():
    index = FeatureIndex(NOTHING_COMMON)
    lines = ["Always call load_quarterly_sheet first.", "```", "tabler verify", "```"]
    index.add_source((0,), lines, listing=False)
    hits = index.find(["x = load_quarterly_sheet()", "$ tabler verify --all"])
    assert hits == {
        "load_quarterly_sheet": "x = load_quarterly_sheet()",
        "tabler verify": "$ tabler verify --all",
    }
    assert index.quote((0,), "load_quarterly_sheet") == lines[0]
