"""Jobs of Harbor put together from copies of a golden trial, with outcomes of their own."""

import hashlib
import json
import shutil

from tests.support.harbor_trials import TRIAL


def harbor_job(folder, name, **outcomes):
    """A job whose trials, named by the keywords, have the changes given to their results."""
    for number, (trial, changes) in enumerate(outcomes.items()):
        place = folder / name / f"{trial}__{number:07}"
        shutil.copytree(TRIAL, place)
        path = place / "result.json"
        result = json.loads(path.read_text(encoding="utf-8"))
        result |= {"id": f"{name}-{trial}-{number}", "trial_name": place.name, "task_name": trial}
        path.write_text(json.dumps(result | changes), encoding="utf-8")
        shutil.rmtree(
            place / "verifier", ignore_errors=True
        )  # of the golden trial, with its reward
    return folder / name


def rewarded(reward):
    """What the verifier of a trial said."""
    return {"verifier_result": None if reward is None else {"rewards": {"reward": reward}}}


def lock_skill(trial, skill):
    """Lock the skill folder in a trial, as Harbor does when it hands it out."""
    digest = hashlib.sha256()
    for path in sorted(path for path in skill.rglob("*") if path.is_file()):
        inside = path.relative_to(skill).as_posix()
        digest.update(f"{inside}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
    skills = [{"name": skill.name, "digest": f"sha256:{digest.hexdigest()}"}]
    (trial / "lock.json").write_text(json.dumps({"skills": skills}), encoding="utf-8")
