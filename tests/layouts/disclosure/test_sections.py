"""The sections of a flat page: a procedure stays in one file."""

from skilljuror.audit.audit import audit
from skilljuror.base.skill import Blob
from skilljuror.skill.bundles import make_bundle
from tests.support.laid_out import laid_out

HEAD = "---\nname: kiln\ndescription: How a kiln is fired.\n---\n\n"


def test_steps_that_go_on_after_a_block_of_code_are_not_parted():
    steps = "".join(
        f"{n}. {verb} the kiln:\n```\nkiln {verb.lower()}\n```\n\n"
        for n, verb in enumerate(("Load", "Close", "Light", "Watch"), 1)
    )
    rest = (
        "**Never**:\n- open the door early\n- leave the room\n\nThe log holds one row a minute.\n"
    )
    before = "The kiln is warm.\n\n" * 145
    text = f"{HEAD}## Firing\n\n{before}When asked:\n\n{steps}{rest}"
    source = make_bundle("kiln", {"kiln/SKILL.md": Blob(text.encode())})
    _, flat, made = laid_out(source, "baseline", "pd").values()
    holding = [path for path, blob in made.files.items() if "the kiln:" in (blob.text or "")]
    assert len(holding) == 1
    assert len(made.files) > 1
    assert audit(flat, made, "pd", "strict").verdict == "pass"
