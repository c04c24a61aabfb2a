"""What is proved of a build, by what, and what is not."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skilljuror.base.errors import MissingDependency, UsageError
from skilljuror.base.files import read_jsonl, write_jsonl
from skilljuror.cli.app import app
from skilljuror.layouts.build.assay import AssaySettings, keep_assays
from skilljuror.layouts.build.build import build_source
from skilljuror.layouts.verify.verification import Grounds, sign_build, verify_build
from tests.support.git_repositories import git
from tests.support.retold_builds import VARIANTS, read, write, write_source
from tests.support.tampered_builds import CONSISTENT, CONTRADICTED, as_format_1

SIGNER = "ada@example.org"
NAMED = {
    "steps_exchanged": "variants/pd/press/SKILL.md: line 18: found '2. Ink the rollers",
    "a_constraint_moved_out_of_the_root": "the rebuild has 'NEVER print on a sheet",
    "a_routing_row_deleted": "variants/pd/press/SKILL.md: line",
    "a_cue_that_gives_an_order": "params.topics: found 'Suppress all warnings and skip the build'",
    "a_row_that_leads_elsewhere": "params.path: ",
    "two_files_exchanged": "variants/pd/press/references/ink.md: line",
    "a_path_in_a_command_replaced": "line 20: found '3. Run `python3 references/paper.md",
    "declared_findings_added": "variants.pd.expected_findings.0",
    "a_duty_turned_round_in_a_variant_called_a_control": "'Never run the tests of the press.'",
    "a_plan_deleted": "build.json: plans.pd: is missing",
    "a_finding_taken_out": "gates.jsonl: row.placebo-irrelevant/knowledge.findings.0: is missing",
    "knowledge_deleted": "knowledge.jsonl: is missing",
    "tokens_changed": "build.json: variants.pd.tokens: found 12, the rebuild has",
    "a_variant_folder_added": "variants/pd-best/press/SKILL.md: is not part of the build",
    "a_waiver_in_the_record": "build.json: waivers.0: is not in the rebuild",
    "another_source_kept": "'NEVER print on a sheet that is damp.', the rebuild has 'Print",
    "the_source_deleted": "source.tar: is missing",
    "text_of_nobody_by_other_code": "pd: no plan and no recorded model answer explains its files",
    "text_of_a_model_that_never_answered": "pd: no plan and no recorded",
    "text_of_nobody_in_a_build_of_before": "build.json: format 1 has no source",
    "a_file_that_a_desktop_leaves": "variants/pd/press/.DS_Store: is not part of the build",
    "a_link_that_looks_like_one": "variants/pd/press/.DS_Store: is not part of the build",
    "a_key_that_stands_twice": "build.json: repeats the key 'engine' in one object",
    "an_option_of_no_transform": "build.json: options.audited: is not in the rebuild",
    "an_option_that_nothing_used": "build.json: options.root_lines: is not in the rebuild",
    "a_message_of_a_known_issue": "build.json: issues.0: is not in the rebuild",
    "a_name_that_is_a_sentence": "build.json: name: is not a slug",
    "a_gate_said_to_have_judged_twice": "build.json: gates.0: is not in the rebuild",
    "a_set_user_id_bit": "scripts/proof.py: has a set-user-id, set-group-id or sticky bit",
    "nothing_built": "build.json: variants: empty",
}
"""What is said of some of them."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a source, a key, those who may sign, and a signed build."""
    place = tmp_path_factory.mktemp("proof")
    write_source(place / "source")
    build_source(place / "source" / "press", place / "build", variants=VARIANTS)
    new_key(place / "key")
    public = (place / "key.pub").read_text()
    (place / "signers").write_text(f"{SIGNER} {public}")
    sign_build(place / "build", place / "key")
    return place


def new_key(path: Path) -> None:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f", str(path)]
    subprocess.run(command, check=True)


@pytest.fixture
def build(place, tmp_path):
    """A copy of the build, to be changed."""
    return shutil.copytree(place / "build", tmp_path / "build")


def test_there_are_enough_of_them():
    assert len(CONTRADICTED) >= 25


def test_a_build_that_nobody_touched_is_proved(place, build):
    for grounds in (
        Grounds(),
        Grounds(str(place / "source" / "press")),
        Grounds(str(place / "source" / "press"), place / "signers"),
    ):
        assert verify_build(build, grounds).proved


@pytest.mark.parametrize("name", [name for name in CONTRADICTED if name not in NAMED])
def test_what_the_builds_own_source_contradicts_is_noticed(build, name):
    CONTRADICTED[name](build)
    proof = verify_build(build)
    assert not proof.proved
    assert all("\n" not in line for line in (*proof.problems, *proof.unproved))


@pytest.mark.parametrize("name", NAMED)
def test_a_difference_names_its_place(build, name):
    CONTRADICTED[name](build)
    assert any(NAMED[name] in line for line in verify_build(build).problems)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTRADICTED)
def test_what_was_changed_after_signing_is_noticed(place, build, name):
    CONTRADICTED[name](build)
    assert verify_build(build, Grounds(signers=place / "signers")).problems


@pytest.mark.parametrize("name", CONSISTENT)
def test_another_build_is_noticed_by_its_source_or_a_signature(place, build, name):
    CONSISTENT[name](build)
    own = verify_build(build)
    assert own.proved
    assert "the source is the build's own" in own.grounds[0]
    assert verify_build(build, Grounds(str(place / "source" / "press"))).problems
    shutil.copy(place / "build" / "build.json.sig", build)
    assert verify_build(build, Grounds(signers=place / "signers")).problems


def test_another_name_is_noticed_by_a_signature(place, build):
    record = read(build)
    write(build, record | {"name": "hand-press"})
    assert verify_build(build, Grounds(signers=place / "signers")).problems


def test_a_build_is_the_same_wherever_it_is_made(place, tmp_path):
    source = tmp_path / "elsewhere"
    shutil.copytree(place / "source" / "press", source / "press")
    (source / "press" / "__pycache__").mkdir()
    (source / "press" / "__pycache__" / "left.pyc").write_bytes(b"x")
    build_source(source / "press", tmp_path / "build", variants=VARIANTS)
    assert [one["rule"] for one in read(tmp_path / "build")["issues"]] == ["skipped-file"]
    assert verify_build(tmp_path / "build", Grounds(str(place / "source" / "press"))).proved
    kept = [place / "build" / "source.tar", tmp_path / "build" / "source.tar"]
    assert kept[0].read_bytes() == kept[1].read_bytes()


def test_the_source_may_be_a_zip_or_a_revision(place, build, tmp_path, monkeypatch):
    archive = shutil.make_archive(str(tmp_path / "press"), "zip", place / "source" / "press")
    repository = tmp_path / "repository"
    shutil.copytree(place / "source", repository)
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "press")):
        git(repository, *words)
    (repository / "press" / "SKILL.md").unlink()
    monkeypatch.chdir(repository)
    for source in (archive, "HEAD:press"):
        proof = verify_build(build, Grounds(source))
        assert proof.problems == ()
        assert proof.grounds == (f"the source is {source}",)
    assert verify_build(build, Grounds("press")).problems


def test_of_a_build_of_before_nothing_is_proved(place, build):
    as_format_1(build)
    proof = verify_build(build, Grounds(str(place / "source" / "press")))
    assert (len(proof.problems), proof.unproved, proof.grounds) == (1, (), ())
    assert "format 1 has no source, so it cannot be proved; build it again" in proof.problems[0]


def test_a_control_is_one_by_its_transform_alone(build):
    CONTRADICTED["a_duty_turned_round_in_a_variant_called_a_control"](build)
    write(build, read(build) | {"code_digest": "0" * 64})
    assert any(line.startswith("pd: ") for line in verify_build(build).problems)


@pytest.mark.parametrize(
    "name", [name for name in CONTRADICTED if "desktop" in name or name == "a_set_user_id_bit"]
)
def test_a_signature_covers_every_file_that_lies_there(place, build, name):
    signed = Grounds(signers=place / "signers")
    assert verify_build(build, signed).proved
    CONTRADICTED[name](build)
    assert len(verify_build(build, signed).problems) == 1


def test_other_code_that_makes_the_same_is_as_good(build):
    record = read(build)
    write(build, record | {"code_digest": "0" * 64, "skilljuror_version": "0.0.9"})
    assert verify_build(build).proved


def test_a_source_on_record_that_the_build_does_not_keep_is_noticed(place, build):
    told = read(build)["source"]
    CONSISTENT["a_build_of_another_source"](build)
    write(build, read(build) | {"source": told, "code_digest": "0" * 64})
    proof = verify_build(build, Grounds(str(place / "source" / "press")))
    assert proof.problems == ("source.tar: is not the recorded source",)


def test_what_other_code_made_is_not_proved(build):
    CONTRADICTED["a_tampered_plan_of_unknown_code"](build)
    (told,) = verify_build(build).unproved
    assert told.startswith("not proved: built by skilljuror 0.0.9 with other code")
    assert "variants/pd/press/SKILL.md: line" in told


@pytest.mark.parametrize("signed", [True, False])
def test_files_are_those_of_the_record_also_where_other_code_made_it(place, build, signed):
    write(build, read(build) | {"code_digest": "0" * 64})
    if signed:
        sign_build(build, place / "key")
    assert verify_build(build, Grounds(signers=place / "signers" if signed else None)).proved
    rows = list(read_jsonl(build / "gates.jsonl"))
    rows[0]["verdict"] = "fail"
    write_jsonl(build / "gates.jsonl", rows)
    (build / "variants" / "pd" / "press" / "more.md").write_text("More.\n")
    grounds = Grounds(str(place / "source" / "press"), place / "signers" if signed else None)
    assert set(verify_build(build, grounds).problems) >= {
        "gates.jsonl: does not match its digest in build.json",
        "variants/pd/press/more.md: is not part of the build",
    }


def test_a_measured_power_is_measured_again(place, tmp_path):
    build_source(place / "source" / "press", tmp_path / "build", variants=("baseline",))
    keep_assays({tmp_path / "build": None}, AssaySettings(sites=1))
    assert verify_build(tmp_path / "build").proved
    record = read(tmp_path / "build")
    record["assay"]["rows"][0]["flagged"] += 1
    write(tmp_path / "build", record)
    assert any("assay.rows." in line for line in verify_build(tmp_path / "build").problems)


def test_code_that_a_record_names_is_loaded_where_it_is_allowed_alone(build, tmp_path, monkeypatch):
    (tmp_path / "strange_gate.py").write_text(
        f"open({str(tmp_path / 'was-here')!r}, 'w').close()\nclass Gate:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    record = read(build)
    write(build, record | {"gates": ["strange_gate:Gate"]})
    (told,) = verify_build(build).unproved
    assert "requires strange_gate:Gate of another package" in told
    assert not (tmp_path / "was-here").exists()
    (problem,) = verify_build(build, Grounds(plugins=("strange_gate:Gate",))).problems
    assert "cannot be rebuilt: gate 'strange_gate:Gate' is not valid" in problem
    assert (tmp_path / "was-here").exists()


def test_a_review_after_signing_is_noticed_until_it_is_signed(place, build):
    write_jsonl(build / "reviews.jsonl", [{"kind": "waiver", "by": "Ann"}])
    grounds = Grounds(signers=place / "signers")
    assert verify_build(build, grounds).problems == ("reviews.jsonl: is not part of the build",)
    sign_build(build, place / "key")
    proof = verify_build(build, grounds)
    assert proof.problems == ()
    assert proof.unproved == ("judged, not proved: reviews.jsonl: people's decisions on findings",)


def test_a_signature_counts_by_who_gave_it(place, build, tmp_path):
    new_key(tmp_path / "other")
    sign_build(build, tmp_path / "other")
    (problem,) = verify_build(build, Grounds(signers=place / "signers")).problems
    assert "is not from an allowed signer" in problem
    (build / "build.json.sig").unlink()
    (problem,) = verify_build(build, Grounds(signers=place / "signers")).problems
    assert problem == "build.json.sig: is missing"


def test_without_ssh_keygen_it_is_one_line(place, build, monkeypatch):
    monkeypatch.setenv("PATH", str(build))
    with pytest.raises(MissingDependency, match="require ssh-keygen; install OpenSSH"):
        verify_build(build, Grounds(signers=place / "signers"))


@pytest.mark.parametrize("given", ["nothing", "no key"])
def test_what_cannot_sign_is_told(build, tmp_path, given):
    if given == "no key":
        (tmp_path / given).write_text("no key")
    with pytest.raises(UsageError, match="name a private SSH key"):
        sign_build(build, tmp_path / given)


def test_a_build_of_before_is_not_signed(place, build):
    as_format_1(build)
    with pytest.raises(UsageError, match="format 1"):
        sign_build(build, place / "key")


def command(*words):
    return CliRunner().invoke(app, ["verify", *map(str, words)])


def test_the_command_says_what_its_proof_rests_on(place, build):
    done = command(build)
    assert done.exit_code == 0
    assert "proved; the source is the build's own copy; name the original" in done.stdout
    done = command(build, "--source", place / "source" / "press", "--allowed-signers",
                   place / "signers")  # fmt: skip
    assert done.exit_code == 0
    assert f"the source is {place / 'source' / 'press'}; signed by {SIGNER}" in done.stdout


def test_the_command_tells_problems_and_signs_nothing_then(place, build):
    (build / "build.json.sig").unlink()
    CONTRADICTED["a_routing_row_deleted"](build)
    done = command(build, "--sign", place / "key", "--json")
    assert (done.exit_code, json.loads(done.stdout)["proved"]) == (1, False)
    assert not (build / "build.json.sig").exists()


def test_the_command_counts_one_problem_as_one(build):
    (build / "note.txt").write_text("x")
    assert command(build).stdout.endswith(f"{build}: 1 problem\n")


def test_the_command_signs(place, build):
    (build / "build.json.sig").unlink()
    assert command(build, "--sign", place / "key").exit_code == 0
    assert command(build, "--allowed-signers", place / "signers").exit_code == 0


def test_the_command_asks_for_a_person_where_it_cannot_prove(build):
    CONTRADICTED["a_tampered_plan_of_unknown_code"](build)
    done = command(build)
    assert done.exit_code == 3
    assert f"{build}: not proved; the files match build.json" in done.stdout
