"""Kernels that are refused: examples of docs/errors.md."""

import ingot
import numpy as np
from ingot import cuda


@cuda.jit
def waits_in_a_branch(x):
    if cuda.threadIdx.x < 2:
        cuda.syncthreads()
    x[0] = 1


@cuda.jit
def waits_for_the_grid_in_a_branch(x):
    if cuda.blockIdx.x < 2:
        cuda.cg.this_grid().sync()
    x[0] = 1


@cuda.jit
def prints(x):
    print(x[0])


@cuda.jit
def returns(x):
    return x[0]


@cuda.jit
def asks_for_room(x, n):
    s = cuda.shared.array(n, np.float64)
    s[0] = x[0]


class Tile:
    def __init__(self, memory):
        self.memory = memory


@cuda.jit
def holds_memory_of_a_loop(x, n):
    for _ in range(n):
        tile = Tile(cuda.shared.array(4, np.float64))
    x[0] = tile.memory[0]


@cuda.jit
def sums_of_any_block(x, n):
    x[0] = cuda.coop.block.sum(np.float64, n)(x[0])


@cuda.jit
def sums_of_any_warp(x, n):
    x[0] = cuda.coop.warp.sum(np.float64, n)(x[0])


@cuda.jit
def adds_to_bytes(x):
    cuda.atomic.add(x, 0, 1)


@cuda.jit
def adds_a_float(x):
    cuda.atomic.add(x, 0, 0.5)


@cuda.jit
def appends(values):
    values.append(1)


@ingot.jit
def counts(n):
    return cuda.threadIdx.x if n == 0 else counts(n - 1)


@cuda.jit
def counts_by_calls(x, n):
    x[0] = counts(n)


def knows_a_thread(x):
    return x[cuda.grid(1)]


X = np.zeros(4)
linked = cuda.declare_device("linked", "float64(float64)")
linked_otherwise = cuda.declare_device("linked", "int64(int64)")


@cuda.jit
def calls_what_is_linked(x):
    x[0] = linked(x[0])


@cuda.jit
def calls_one_name_in_two_ways(x):
    x[0] = linked(x[0]) + linked_otherwise(1)


def calls_a_device_function(x):
    return linked(x[0])


def counts_down(n, x):
    return 0.0 if n == 0 else linked(x[0]) + counts_down(n - 1, x)


@cuda.jit
def links_in_recursion(x, n):
    x[0] = counts_down(n, x)


EXAMPLES = [
    (calls_what_is_linked, X),
    (calls_one_name_in_two_ways, X),
    (calls_a_device_function, X),
    (links_in_recursion, X, 3),
    (waits_in_a_branch, X),
    (waits_for_the_grid_in_a_branch, X),
    (prints, X),
    (returns, X),
    (asks_for_room, X, 4),
    (holds_memory_of_a_loop, X, 3),
    (sums_of_any_block, X, 4),
    (sums_of_any_warp, X, 4),
    (adds_to_bytes, np.zeros(4, np.int8)),
    (adds_a_float, np.zeros(4, np.int64)),
    (appends, [1]),
    (counts_by_calls, X, 3),
    (knows_a_thread, X),
]
