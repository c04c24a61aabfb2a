"""Search for one tone by single frequencies: coarse grid, candidates, fine grid."""

import math

RATE, LOW, HIGH, MAINS = 1000.0, 20.0, 180.0, 50.0
SHAPES = {"rect": (1.0,), "hann": (0.5, -0.5), "blackman": (0.42, -0.5, 0.08)}


class Search:
    """A search by a plan; counts its evaluations and stops at the most allowed."""

    def __init__(self, plan, most):
        self.plan, self.most, self.evaluations = plan, most, 0

    def power(self, block, frequency):
        """Goertzel's recurrence: power of the block at one frequency."""
        self.evaluations += 1
        turn = 2 * math.cos(2 * math.pi * frequency / RATE)
        before = last = 0.0
        for value in block:
            before, last = last, value + turn * last - before
        return before * before + last * last - turn * before * last

    def best(self, block, low, step, count, guard):
        """(power, frequency) on a grid, mains left out, best first."""
        found = []
        for number in range(count):
            frequency = low + number * step
            nearest = MAINS * max(1, round(frequency / MAINS))
            if self.evaluations < self.most and abs(frequency - nearest) >= guard:
                found.append((self.power(block, frequency), frequency))
        return sorted(found, reverse=True)

    def find(self, samples):
        """Frequency of the tone in hertz, or None."""
        count = int(self.plan["block_length"])
        block = samples[:count]
        offset = sum(block) / len(block)
        shape = SHAPES[self.plan["window"]]
        turn = 2 * math.pi / count
        block = [
            (value - offset) * sum(part * math.cos(turn * n * k) for k, part in enumerate(shape))
            for n, value in enumerate(block)
        ]
        coarse, fine, guard = (self.plan[f"{name}"] for name in ("coarse_step", "fine_step", "mains_guard"))
        grid = self.best(block, LOW, coarse, int((HIGH - LOW) / coarse) + 1, guard)
        around = int(2 * coarse / fine) + 1
        answers = []
        for _, frequency in grid[: int(self.plan["candidates_kept"])]:
            answers += self.best(block, frequency - coarse, fine, around, guard)[:1]
        return max(answers)[1] if answers else None
