import pytest

from skilljuror.judge.features.extraction import company, entry_feature, features_of, name_weight
from skilljuror.judge.features.tokenisation import content_words, tokenize

NOTHING_COMMON = frozenset[str]()


def weights(line, code=False, common=NOTHING_COMMON):
    return dict(features_of(line, code, common))


@pytest.mark.parametrize(
    ("name", "weight"),
    [
        ("analyze_largest_component", 3),
        ("BASE_SHA", 2),
        ("MeshAnalyzer", 3),
        ("para.runs", 2),
        ("schema.yaml", 2),
        ("branch-creation.md", 3),
        ("follow-up", 1),
        ("av-raf-5-review", 2),
        ("cebf75d", 2),
        ("a6753b9930e9", 3),
        ("table", 0),
        ("123456", 0),
        ("abc", 0),
    ],
)
def test_weight_of_a_name(name, weight):
    assert name_weight(name) == weight


@pytest.mark.parametrize(
    ("line", "feature", "weight"),
    [
        ("see references/schema.yaml now", "references/schema.yaml", 3),
        ("/root/.claude/skills/mesh/references/schema.yaml", "references/schema.yaml", 3),
        ("run it with --strict-header.", "--strict-header", 2),
        ("Check `gh --version`.", "gh version", 1),
        ("Run `gh auth status`.", "gh auth status", 2),
        ("mass 34,648.04 kg", "#3.465e+04", 2),
        ("a cap of 5.35699", "#5.357", 2),
        ("in the year 2024", "#2024", 1),
        ("a cap of 48213.5kg", "#4.821e+04", 2),
        ("## When to Apply", "## when to apply", 2),
        ("fold every quarterly ledger", "fold every quarterly ledger", 1),
    ],
)
def test_what_a_line_offers(line, feature, weight):
    assert weights(line)[feature] == weight


@pytest.mark.parametrize(
    "line",
    [
        "v1374b2",
        "`table`",
        "This is what you should do with it.",
        "42 and 7",
        "",
        "`` ` ``",
    ],
)
def test_plain_lines_offer_nothing(line):
    assert weights(line) == {}


def test_rounding_does_not_hide_a_number():
    assert weights("34648.04123490179").keys() & weights("34,648.04").keys()
    assert not weights("34648.04").keys() & weights("34748.04").keys()


def test_common_tokens_and_everything_below_a_common_module_weigh_nothing():
    common = frozenset({"readme.md", "os."})
    assert weights("README.md os.path.join", common=common) == {}


def test_a_short_line_is_a_phrase_in_code_only():
    assert "workmux status" in weights("workmux status", code=True)
    assert "workmux status" not in weights("workmux status")


def test_scripts_without_spaces_have_words():
    assert content_words(tokenize("设置页眉行")) == 5
    assert weights("必须设置页眉行")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("-rw-r--r-- 1 root root 12 Jan 1 10:00 limits.md", "name:limits.md"),
        ("├── templates/", "name:templates"),
        ("skills/csv/references/limits.md", "name:limits.md"),
        ("total 12", None),
        ("..", None),
    ],
)
def test_entries_of_listings(line, name):
    assert entry_feature(line) == name


def test_a_number_of_four_digits_is_known_by_a_word_beside_it():
    offered = dict(features_of("Cone 6 slumps above a ramp of 137.5 degrees", False, frozenset()))
    assert offered["#137.5 ramp"] == offered["#137.5 degree"] == 1
    assert not [name for name in offered if name.startswith("#6")]
    assert "ramp" in company("MAX_RAMP = 137.5")
    assert "dwell" in company("dwellTimes: 4183")


def test_a_number_that_everybody_writes_is_known_by_nothing():
    assert not [
        name for name, _ in features_of("port 8080 of 1375", False, frozenset({"8080"}))
        if name.startswith("#8080")
    ]  # fmt: skip
