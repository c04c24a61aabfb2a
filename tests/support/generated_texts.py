"""Generated texts: some that come close to what a shortcut looks for, and long ones of one thing over
and over, which a reader has to read in time."""

import time

from hypothesis import settings
from hypothesis import strategies as st

MANY = settings(max_examples=400, deadline=None)
"""Examples enough to meet the rare text for which a shortcut would differ."""


def glued(*pieces, most=12):
    """Texts made of some pieces, and of anything else."""
    part = st.sampled_from(pieces) | st.text(max_size=3)
    return st.lists(part, max_size=most).map("".join)


SIZE = 200_000
"""Characters: two thirds of the longest command that is read."""
SECONDS = 20.0
"""Far above what a linear reader needs, far below what a quadratic one does."""


def soon(work, text):
    """What comes of a text, if it comes in time."""
    before = time.process_time()
    found = work(text)
    assert time.process_time() - before < SECONDS
    return found
