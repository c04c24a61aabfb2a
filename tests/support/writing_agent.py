"""A small agent that follows a transformation Skill, so to speak: it writes the answers of a file in turn.

It says what it was given: the Skill, the question's files, and what came back. Its arguments are the file
of answers (layout -> list of answers, each path -> text), the instruction and the folder of Skills.
"""

import json
import sys
from pathlib import Path

answers, instruction, skills = (Path(word) for word in sys.argv[1:])
request = json.loads(Path("request.json").read_text(encoding="utf-8"))
variant = Path("variant")
findings = Path("findings.json")
drafts = sorted(path.as_posix() for path in variant.rglob("*.md"))
told = {
    "skills": sorted(path.parent.name for path in skills.glob("*/SKILL.md")),
    "instruction": instruction.read_text(encoding="utf-8"),
    "bundle": {path.as_posix(): path.read_text() for path in sorted(Path("bundle").rglob("*.md"))},
    "drafts": drafts,
    "findings": json.loads(findings.read_text(encoding="utf-8")) if findings.exists() else [],
}
sys.stdout.write(json.dumps(told))
given = json.loads(answers.read_text(encoding="utf-8"))[request["layout"]]
answer = given[1 if drafts and len(given) > 1 else 0]
if isinstance(answer, int):
    sys.exit(answer)
for path, text in answer.items():
    (variant / path).parent.mkdir(parents=True, exist_ok=True)
    if text.startswith("-> "):
        (variant / path).symlink_to(text[3:])
    else:
        (variant / path).write_text(text, encoding="utf-8")
