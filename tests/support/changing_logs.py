"""A folder of logs that changes: sessions with sub-agents, captures of them, trials, foreign files."""

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

from tests.support.claude_logs import assistant, tool_result, tool_use, user
from tests.support.harbor_trials import TRIAL

SKILL_TEXT = "---\nname: tide-table\ndescription: Tides.\n---\n# Tides\n\nLook them up.\n"


class ChangingLogs:
    """Every file has a time of its own, long ago, unless it is replaced unseen."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._homes: dict[int, int] = {}
        self._time = 1_000_000_000
        root.mkdir(parents=True)

    def head(self, session: int) -> Path:
        """The log of a session."""
        home = self._homes.get(session, 0)
        return self.root / "projects" / f"-w{home}" / f"{_id(session)}.jsonl"

    def agent(self, session: int, agent: int) -> Path:
        """The log of a sub-agent of a session."""
        return self.head(session).with_suffix("") / "subagents" / f"agent-a{agent}.jsonl"

    def captured(self, name: int) -> Path:
        """Another capture of some session."""
        return self.root / "copies" / f"capture{name}.jsonl"

    def grow_head(self, session: int, steps: int) -> None:
        """Further steps of a session, or its first."""
        self._grow(self.head(session), session, steps, {})

    def grow_agent(self, session: int, agent: int, steps: int) -> None:
        """Further steps of a sub-agent, or its first."""
        more = {"isSidechain": True, "agentId": f"a{agent}"}
        self._grow(self.agent(session, agent), session, steps, more)

    def capture(self, session: int, name: int, more: int) -> None:
        """A copy of a session that has some steps more or less."""
        head = self.head(session)
        if head.exists():
            lines = head.read_text().splitlines()
            lines = lines[: max(1, len(lines) + 2 * more)]
            known = (len(lines) - 1) // 2
            self.write(self.captured(name), lines + _steps(session, known, max(0, more), {}))

    def move(self, session: int) -> None:
        """Put the log of a session into another folder."""
        before = self.head(session)
        self._homes[session] = self._homes.get(session, 0) + 1
        if before.exists():
            self.head(session).parent.mkdir(parents=True, exist_ok=True)
            before.rename(self.head(session))

    def change(self, chance: random.Random) -> None:
        """Any change, to any file."""
        one, other, file = chance.randrange(3), chance.randrange(3), chance.randrange(20)
        chance.choice([
            lambda: self.grow_head(one, 1 + other),
            lambda: self.grow_agent(one, other, 1),
            lambda: self.capture(one, other, chance.randint(-2, 2)),
            lambda: self.move(one),
            lambda: self.rename(file),
            lambda: self.cut(file, chance.random()),
            lambda: self.spoil(file),
            lambda: self.touch(file),
            lambda: self.replace_unseen(file),
            lambda: self.remove(self.head(one)),
            lambda: self.remove(self.agent(one, other)),
            lambda: self.remove(self.captured(one)),
            lambda: self.write_trial(one),
            lambda: self.remove_trial(one),
        ])()

    def rename(self, number: int) -> None:
        """Give a file another name, in its folder."""
        for path in self._file(number):
            path.rename(path.with_stem(f"{path.stem[-12:]}-renamed"))

    def spoil(self, number: int) -> None:
        """Write what is no log over a file."""
        for path in self._file(number):
            path.write_bytes(b"{ no log\n" * 300)
            self._stamp(path)

    def touch(self, number: int) -> None:
        """Give a file another time."""
        for path in self._file(number):
            self._stamp(path)

    def cut(self, number: int, kept: float) -> None:
        """Leave the first bytes of a file."""
        for path in self._file(number):
            path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
            self._stamp(path)

    def replace_unseen(self, number: int) -> bool:
        """Write other words of one length into a file, and give it the time that it had; whether that
        could be done."""
        changed = False
        for path in self._file(number):
            before, text = path.stat().st_mtime_ns, path.read_bytes()
            other = text.replace(b"tide-table", b"tide-tabel").replace(b"say now", b"say new")
            changed = other != text
            path.write_bytes(other)
            os.utime(path, ns=(before, before))
        return changed

    def remove(self, path: Path) -> None:
        """Take a file away."""
        path.unlink(missing_ok=True)

    def write_trial(self, number: int) -> None:
        """A trial of Harbor, or another reward in it. All have one id: each gives the same run."""
        folder = self.root / "trials" / f"trial{number}"
        if not folder.exists():
            shutil.copytree(TRIAL, folder)
            for path in sorted(folder.rglob("*")):
                self._stamp(path)
        result = json.loads((TRIAL / "result.json").read_text())
        self._time += 1
        result["verifier_result"] = {"rewards": {"reward": self._time % 10 / 10}}
        self.write(folder / "result.json", [json.dumps(result)])

    def remove_trial(self, number: int) -> None:
        """Take a trial away."""
        shutil.rmtree(self.root / "trials" / f"trial{number}", ignore_errors=True)

    def write(self, path: Path, lines: list[str]) -> None:
        """A file of these lines."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        self._stamp(path)

    def _grow(self, path: Path, session: int, steps: int, more: dict[str, Any]) -> None:
        lines = (
            path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
        )
        begun = user(0, "say now", **_of(session), **more, uuid=f"{path.stem} begins")
        first = [] if lines else [json.dumps(begun)]
        known = max(0, len(lines) - 1) // 2
        self.write(path, lines + first + _steps(session, known, steps, more))

    def _file(self, number: int) -> list[Path]:
        files = sorted(path for path in self.root.rglob("*") if path.is_file())
        return [files[number % len(files)]] if files else []

    def _stamp(self, path: Path) -> None:
        self._time += 1
        os.utime(path, (self._time, self._time))


def _id(session: int) -> str:
    return f"5e551000-0000-4000-8000-{session:012}"


def _of(session: int) -> dict[str, Any]:
    return {"sessionId": _id(session)}


def _steps(session: int, known: int, steps: int, more: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for step in range(known, known + steps):
        call = tool_use(f"c{step}", command="cat /w/.claude/skills/tide-table/SKILL.md")
        name = f"{more.get('agentId', 'm')}{session}.{step}"
        of = {**_of(session), **more}
        said = assistant(step % 50 + 1, call, id=name, **of, uuid=f"{name}-said")
        shown = [tool_result(f"c{step}", SKILL_TEXT)]
        back = user(step % 50 + 1, shown, **of, uuid=f"{name}-back")
        lines += [json.dumps(said), json.dumps(back)]
    return lines
