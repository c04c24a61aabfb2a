"""`advise`: the tokens are those of the closed form, and what was not observed stays unknown."""

import pytest

from skilljuror.base.errors import BundleError, StoreError, StudyError, UsageError
from skilljuror.base.review import JudgedBuild
from skilljuror.base.texts import count
from skilljuror.layouts.build.build import build_source
from skilljuror.report.advise import LAYOUTS, SHARES, advise, cheaper_at
from skilljuror.store import open_write
from skilljuror.store.logs import ingest_logs
from tests.support import fabricated_records as fake
from tests.support.claude_logs import assistant, tool_result, tool_use, user, write_lines
from tests.support.git_repositories import git
from tests.support.harness_tasks import write_tree

HEAD = "---\nname: csv-report\ndescription: How to write a report from a CSV file.\n---\n# CSV report\n"
FORMAT = "# Format\n\n" + "Write the header first, and use 2 decimals for every amount.\n" * 60
SHOPS = "# Shops\n\n" + "Each shop opens at noon on the days that its row names.\n" * 60
SECTIONS = "".join(
    f"\n## Kind {number}\n\n" + f"A report of kind {number} holds the name of one shop.\n" * 20
    for number in range(14)
)
FILES = {
    "csv-report/SKILL.md": HEAD
    + "\nRun `python scripts/sums.py in.csv`. Before you write, read [the format](references/format.md);"
    " for opening times, read [the shops](references/shops.md).\n" + SECTIONS,
    "csv-report/references/format.md": FORMAT,
    "csv-report/references/shops.md": SHOPS,
    "csv-report/scripts/sums.py": "print(1)\n" * 40,
}
SKILLS = "/root/.claude/skills/csv-report"


@pytest.fixture(scope="module")
def skill(tmp_path_factory):
    return write_tree(tmp_path_factory.mktemp("skill"), FILES) / "csv-report"


def asked(skill, study=None):
    return advise(str(skill), study)


def by_name(advice):
    return {one.layout: one for one in advice.layouts}


@pytest.fixture(scope="module")
def advice(skill):
    return asked(skill)


def own_logs(folder, *opened, skill="csv-report", root=SKILLS):
    """Sessions of Claude Code in a project each: every one opens the Skill, and the files named."""
    for number, names in enumerate(opened):
        session = f"5e551000-0000-4000-8000-00000000000{number}"
        first = 10 * number  # two sessions have no record in common
        rows = [
            user(first + 1, "Write the report.", sessionId=session),
            assistant(first + 2, tool_use("t0", "Skill", skill=skill), sessionId=session),
            user(first + 3, [tool_result("t0", f"Launching skill: {skill}")], sessionId=session),
        ]
        for place, name in enumerate(names, start=1):
            read = tool_use(f"t{place}", command=f"cat {root}/{name}")
            text = FILES.get(f"csv-report/{name}", "old words\n")
            rows.append(assistant(first + 2 + 2 * place, read, sessionId=session))
            rows.append(
                user(first + 3 + 2 * place, [tool_result(f"t{place}", text)], sessionId=session)
            )
        write_lines(folder / "projects" / f"-w{number}" / f"{session}.jsonl", *rows)
    return folder


def study_of(folder, *opened, **more):
    ingest_logs(folder / "mine", [own_logs(folder / "logs", *opened, **more)])
    return folder / "mine"


def test_tokens_are_the_root_and_the_share_of_each_file_on_demand(advice):
    yours = by_name(advice)["origin"]
    root = count(FILES["csv-report/SKILL.md"])
    demand = count(FORMAT) + count(SHOPS)
    assert (yours.root_tokens, yours.demand_tokens) == (root, demand)
    assert yours.at_share == tuple(root + share * demand for share in SHARES)
    assert [one.path for one in yours.on_demand] == [
        "csv-report/references/format.md",
        "csv-report/references/shops.md",
    ]
    assert yours.expected is None


def test_one_page_is_read_whole_and_its_scripts_are_not_counted(advice):
    page = by_name(advice)["flat-files"]
    assert page.on_demand == ()
    assert set(page.at_share) == {page.root_tokens}
    assert page.root_tokens < by_name(advice)["baseline"].root_tokens


def test_a_long_root_is_worth_a_study_and_its_sections_would_be_on_demand(advice):
    pd = by_name(advice)["pd"]
    assert advice.decision == "study"
    assert advice.answer[0].startswith("Keep yours for now, and test pd")
    new = {one.path for one in pd.on_demand} - {*FILES}
    assert new
    assert all(one.runs is None and one.share is None for one in pd.on_demand)
    assert [one.layout for one in advice.layouts] == [*LAYOUTS]


def test_the_tokens_are_those_of_a_build(advice, skill, tmp_path):
    built = build_source(skill, tmp_path / "built", variants=LAYOUTS)
    layouts = by_name(advice)
    assert {one.variant: one.root_tokens for one in built.variants} == {
        name: one.root_tokens for name, one in layouts.items()
    }
    assert {one.variant: one.verdict for one in built.variants} == {
        name: one.verdict for name, one in layouts.items()
    }


@pytest.mark.parametrize(
    ("root", "demand", "said"),
    [
        (-100, 200, "below 50 %"),
        (100, -400, "above 25 %"),
        (-100, -1, "always"),
        (-100, 99, "always"),
        (0, 5, "never"),
        (7, -7, "never"),
        (0, 0, "same"),
    ],
)
def test_the_share_at_which_a_layout_is_cheaper(root, demand, said):
    """root + share * demand < 0 by hand."""
    assert cheaper_at(root, demand) == said


SMALL = {
    "one sentence": HEAD + "\nSay hello.\n",
    "no prose": HEAD.replace("# CSV report\n", ""),
    "one block of code": HEAD + "\n```bash\n" + "echo hello to the shop\n" * 400 + "```\n",
}


@pytest.mark.parametrize("text", SMALL.values(), ids=SMALL.keys())
def test_a_skill_with_nothing_to_disclose_is_left_as_it_is(text, tmp_path):
    found = asked(write_tree(tmp_path, {"csv-report/SKILL.md": text}) / "csv-report")
    assert found.decision == "nothing"
    assert found.answer[0].startswith("Leave it as it is: the root has")


def test_a_short_root_is_left_as_it_is(tmp_path):
    short = {**FILES, "csv-report/SKILL.md": FILES["csv-report/SKILL.md"].split("\n## Kind 2")[0]}
    found = asked(write_tree(tmp_path, short) / "csv-report")
    assert found.decision == "keep"
    assert found.answer[0].startswith("Leave it as it is: its root has")


def test_a_page_that_no_agent_can_hold_is_no_option(tmp_path):
    huge = {**FILES, "csv-report/references/shops.md": SHOPS * 180}
    found = asked(write_tree(tmp_path, huge) / "csv-report")
    assert any("too long for an agent to hold" in sentence for sentence in found.answer)
    assert "(over 100,000 tokens)" in found.answer[1]


def test_several_skills_become_one(skill, tmp_path):
    other = {
        name.replace("csv-report/", "csv-total/"): text.replace("csv-report", "csv-total")
        for name, text in FILES.items()
    }
    both = write_tree(tmp_path / "both", FILES | other)
    found = asked(both)
    assert found.skills == ("csv-report", "csv-total")
    assert found.decision == "several"
    assert f"such as skilljuror advise {both}/csv-report." in found.answer[0]


def test_a_revision_is_read_from_git_and_its_study_names_the_folder(skill, tmp_path, monkeypatch):
    write_tree(tmp_path, FILES)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "a report")):
        git(tmp_path, *words)
    monkeypatch.chdir(tmp_path)
    found = asked("HEAD:csv-report")
    assert by_name(found)["origin"].root_tokens == count(FILES["csv-report/SKILL.md"])
    assert "--skill csv-report --out study.yaml" in found.answer[-1]


def test_shares_of_own_logs_and_what_no_run_was_offered(skill, tmp_path):
    study = study_of(
        tmp_path, ["references/format.md"], ["references/format.md", "references/gone.md"], []
    )
    found = asked(skill, study)
    yours, pd = by_name(found)["origin"], by_name(found)["pd"]
    assert [(one.opened, one.runs, one.clusters) for one in yours.on_demand] == [
        (2, 3, 3),
        (0, 3, 3),
    ]
    assert yours.expected == pytest.approx([yours.root_tokens + 2 / 3 * count(FORMAT)] * 2)
    new = [one for one in pd.on_demand if one.path not in FILES]
    assert {one.share for one in new} == {None}
    low, high = pd.expected
    assert low == pytest.approx(pd.root_tokens + 2 / 3 * count(FORMAT))
    assert high - low == sum(one.tokens for one in new)
    assert (
        "At the observed shares (3 runs opened it; the logs do not identify the version"
        in found.answer[1]
    )
    assert "of files that no run was offered, the share may be anything" in found.answer[1]


def test_a_study_without_this_skill_leaves_the_shares_unknown(skill, tmp_path):
    study = study_of(tmp_path, [], skill="other", root="/root/.claude/skills/other")
    found = asked(skill, study)
    assert all(one.expected is None for one in found.layouts)
    assert found.answer[1].startswith("No run in ")


def trials(folder, skill, *, digest=None):
    """Two tasks with one trial of pd each; one of them opens its format.md."""
    built = build_source(skill, folder / "built", variants=LAYOUTS)
    pd = next(one for one in built.variants if one.variant == "pd")
    pd = pd.model_copy(update={"tree_digest": digest or pd.tree_digest})
    study = folder / "study"
    study.mkdir()
    with open_write(study / "study.duckdb") as store:
        store.put_plan(fake.plan(["alpha", "beta"], ["pd"]))
        builds = [fake.build("alpha"), fake.build("beta")]
        records = [one.record.model_copy(update={"variants": (pd,)}) for one in builds]
        store.put_builds([JudgedBuild(record, []) for record in records])
        tasks = ("alpha", "beta")
        names = [fake.name_of(task, "pd") for task in tasks]
        store.put(
            "trials", [fake.trial(task, "pd", variant_digest=pd.tree_digest) for task in tasks]
        )
        read = fake.event(names[0], 1, resource="references/format.md", resource_class="support")
        costs = [{"agent_minutes": 5.0 * number, "cost_usd": 0.5 * number} for number in (1, 2)]
        fake.put(
            store,
            [
                fake.run(name, trial=name, events=[fake.event(name), *more], values=values)
                for name, more, values in zip(names, ([read], []), costs, strict=True)
            ],
        )
    return study


def test_shares_of_trials_belong_to_their_own_layout(skill, tmp_path):
    found = asked(skill, trials(tmp_path, skill))
    layouts = by_name(found)
    pd = layouts["pd"]
    opened = {one.path: (one.opened, one.runs, one.clusters) for one in pd.on_demand}
    assert opened.pop("csv-report/references/format.md") == (1, 2, 2)
    assert {*opened.values()} == {(0, 2, 2)}
    assert pd.expected == pytest.approx([pd.root_tokens + count(FORMAT) / 2] * 2)
    assert layouts["origin"].expected == pytest.approx([
        layouts["origin"].at_share[0],
        layouts["origin"].at_share[-1],
    ])
    assert "different version" not in found.answer[1]


def test_trials_of_another_text_are_named(skill, tmp_path):
    found = asked(skill, trials(tmp_path, skill, digest="e" * 64))
    assert "condition pd offered a different version of the Skill" in found.answer[1]


def test_folders_that_are_no_skill_and_no_study(skill, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BundleError, match=r"no SKILL\.md"):
        asked(tmp_path / "empty")
    build_source(skill, tmp_path / "built", variants=["origin"])
    with pytest.raises(UsageError, match="output of a build"):
        asked(tmp_path / "built")
    with pytest.raises((StudyError, StoreError), match="has no database"):
        asked(skill, tmp_path / "empty")
