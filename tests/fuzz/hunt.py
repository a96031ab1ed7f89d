"""python -m fuzz.hunt SEED LIMIT: the number of programs until the first that shows a planted mutant."""

import json
import os
import sys

from . import campaign
from .mutants import CHOSEN

FIRST_BATCH = 20


def is_differing_without(seed: int, number: int) -> bool:
    """Whether a program differs in the compiler as it is."""
    chosen = os.environ.pop(CHOSEN)
    rows = campaign.batch(seed, number, 1)
    os.environ[CHOSEN] = chosen
    return any(row["kind"] for _, row in rows)


def hunt(seed: int, limit: int) -> dict:
    """The first program of a seed that shows the mutant which the environment chooses, if one does."""
    start, size = 0, FIRST_BATCH
    while start < limit:
        size = min(size, limit - start)
        for number, row in campaign.batch(seed, start, size):
            if row["kind"] and not is_differing_without(seed, number):
                return {"programs": number + 1, "kind": row["kind"]}
        start, size = start + size, campaign.BATCH
    return {"programs": limit, "kind": None}


if __name__ == "__main__":
    print(json.dumps(hunt(*map(int, sys.argv[1:]))))
