"""Programs of shards, each with what NumPy makes of it: `mpiexec -n 4 python shard_programs.py` runs them on ranks and on threads.

Each is (name, function of a shard, specs of arguments and results, arguments, reference). The functions take the names of the mesh's axes
as they are: "x", of all positions or half of them, and "y". A reference is given the numbers of positions along both.
"""

import sys

import numpy as np

import ingot
from ingot import P

DTYPES = "?bhilBHILefdFD"
PROGRAMS = []


def program(in_specs, out_specs, *arguments):
    """Registers a function of a shard with its reference."""

    def register(function):
        def take(reference):
            PROGRAMS.append((function.__name__, function, in_specs, out_specs, arguments, reference))
            return reference

        return take

    return register


def numbers(count, dtype="d"):
    values = (np.arange(count) * 7 % 23 - 5) / 3
    return (values * (1 + 2j)).astype(dtype) if dtype in "FD" else np.abs(values * 3).astype(dtype) if dtype in "?BHIL" else values.astype(dtype)


def in_order(blocks, combine=np.add):
    """The stated order: the first block, and then the others by their indices."""
    total = blocks[0].astype(np.int64) if blocks[0].dtype == bool and combine is np.add else blocks[0].copy()
    for block in blocks[1:]:
        total = combine(total, block)
    return total


def halves(x, count, axis=0):
    return np.split(x, count, axis)


def sums(*arrays):
    return tuple([ingot.psum(x, "x") for x in arrays])


program((P("x"),) * len(DTYPES), P(), *[numbers(24, dtype) for dtype in DTYPES])(sums)(lambda nx, ny, *arrays: tuple(in_order(halves(x, nx)) for x in arrays))


def extremes(*arrays):
    return tuple([(ingot.pmax(x, "x"), ingot.pmin(x, "x")) for x in arrays])


program((P("x"),) * len(DTYPES), P(), *[numbers(24, dtype) for dtype in DTYPES])(extremes)(
    lambda nx, ny, *arrays: tuple((in_order(halves(x, nx), np.maximum), in_order(halves(x, nx), np.minimum)) for x in arrays)
)


def means(x, k):
    return x - ingot.pmean(x, "x"), ingot.pmean(k, "x"), ingot.pmean(x[-1], "x")


@program((P("x"), P("x")), (P("x"), P(), P()), numbers(24), np.arange(24))(means)
def means_in_numpy(nx, ny, x, k):
    mean = in_order(halves(x, nx)) / nx
    return x - np.tile(mean, nx), in_order(halves(k, nx)) / nx, in_order([part[-1] for part in halves(x, nx)]) / nx


def large(x):
    return ingot.psum(x, "x"), ingot.pmax(x, "x")


@program(P("x"), P(), np.random.default_rng(1).normal(size=(4, 10_007)))(large)
def large_in_numpy(nx, ny, x):
    rows = halves(x, nx)
    return in_order(rows), in_order(rows, np.maximum)


def gathered(m):
    return ingot.all_gather(m, "x"), ingot.all_gather(m, "x", axis=1, tiled=True), ingot.all_gather(m[0, 1], "x")


@program(P("x"), P(), numbers(48).reshape(8, 6))(gathered)
def gathered_in_numpy(nx, ny, m):
    parts = halves(m, nx)
    return np.stack(parts), np.concatenate(parts, 1), np.array([part[0, 1] for part in parts])


def places(x):
    return x * 0 + ingot.axis_index("x") * 10 + ingot.axis_index("y"), ingot.axis_size("x") * 100 + ingot.psum(1, "y")


@program(P(("x", "y")), (P(("x", "y")), P()), np.zeros(8))(places)
def places_in_numpy(nx, ny, x):
    return np.repeat([10.0 * i + j for i in range(nx) for j in range(ny)], 8 // (nx * ny)), nx * 100 + ny


def both_axes(m):
    return ingot.psum(m, ("x", "y")), ingot.psum(m, "y")


@program(P("x", "y"), (P(), P("x")), numbers(64).reshape(8, 8) ** 3)(both_axes)
def both_axes_in_numpy(nx, ny, m):
    blocks = [halves(row, ny, 1) for row in halves(m, nx)]
    columns = [in_order([blocks[i][j] for i in range(nx)]) for j in range(ny)]
    return in_order(columns), np.concatenate([in_order(row) for row in blocks])


def round_trip(x):
    n = ingot.axis_size("x")
    return ingot.ppermute(x, "x", [(i, (i + 1) % n) for i in range(n)]), ingot.ppermute(x, "x", [(0, n - 1)])


@program(P("x"), (P("x"), P("x")), numbers(8))(round_trip)
def round_trip_in_numpy(nx, ny, x):
    parts = halves(x, nx)
    last = np.zeros(8)
    last[-len(parts[0]) :] = parts[0]
    return np.concatenate([parts[-1], *parts[:-1]]), last


def turned(m):
    return ingot.all_to_all(m, "x", 1, 0, tiled=True), ingot.psum_scatter(m, "x", scatter_dimension=1, tiled=True)


@program(P("x"), (P(None, "x"), P(None, "x")), numbers(64).reshape(8, 8) ** 3)(turned)
def turned_in_numpy(nx, ny, m):
    return m, in_order(halves(m, nx))


def of_batches(m):
    """Collectives of the axis of batch elements, and of the mesh's."""
    return ingot.vmap(lambda row: (row / ingot.psum(row, "x"), row - ingot.pmean(row, "i")), axis_name="i")(m)


@program(P(None, "x"), (P(None, "x"), P(None, "x")), numbers(48).reshape(6, 8) + 20)(of_batches)
def of_batches_in_numpy(nx, ny, m):
    return m / np.tile(in_order(halves(m, nx, 1)), nx), m - m.mean(0)


def slopes(w, x):
    """The derivative of the sum of what all shards return."""

    def loss(w, x):
        return ingot.psum((w * x).sum() ** 2, "x") + (ingot.ppermute(w * x, "x", [(0, 0)]) ** 2).sum()

    return ingot.grad(loss, argnums=(0, 1))(w, x)


@program((P(), P("x")), P("x"), np.array([2.0]), np.arange(8.0))(slopes)
def slopes_in_numpy(nx, ny, w, x):
    of_w, of_x = [], []
    for k, part in enumerate(halves(x, nx)):
        of_w.append(nx * 2 * w * part.sum() ** 2 + (2 * w * (part**2).sum() if k == 0 else 0))
        of_x.append(nx * 2 * w**2 * part.sum() + (2 * w**2 * part if k == 0 else np.zeros(len(part))))
    return np.concatenate(of_w), np.concatenate(of_x)


def along(x, t):
    return ingot.jvp(lambda x: ingot.all_gather(x * x, "x").sum() + ingot.pmax(x, "x").sum(), (x,), (t,))


@program((P("x"), P("x")), P(), np.arange(8.0), np.ones(8))(along)
def along_in_numpy(nx, ny, x, t):
    top = in_order(halves(x, nx), np.maximum)
    return (x * x).sum() + top.sum(), (2 * x).sum() + len(top)


def shape_of(count, is_grid):
    return {"x": 2, "y": count // 2} if is_grid and count > 1 else {"x": count, "y": 1}


def same(got, expected):
    """Whether two results are the same bits, dtypes and shapes."""
    if isinstance(expected, tuple):
        return isinstance(got, tuple) and len(got) == len(expected) and all(map(same, got, expected))
    got, expected = np.asarray(got), np.asarray(expected)
    return got.dtype == expected.dtype and got.shape == expected.shape and got.tobytes() == expected.tobytes()


def alone(mesh, comm):
    """What ranks give that know different things when they compile: what it is called, what it is, and what it should be."""
    rank, last = comm.rank, comm.size - 1
    total = np.int64(comm.size * last // 2)

    def local(function):
        return ingot.shard_map(function, mesh, local=True)

    yield "local", local(lambda x: ingot.psum(x, "x") + ingot.axis_index("x"))(np.ones(3)), np.full(3, float(comm.size + rank))
    yield "the sum of globals", local(lambda x: ingot.psum(rank, "x"))(np.ones(3)), total
    yield "the largest of globals", local(lambda x: ingot.pmax(rank, "x"))(np.ones(3)), np.int64(last)
    yield "globals in a batch", local(lambda x: ingot.vmap(lambda v: ingot.psum(rank, "x"))(x))(np.ones(3)), np.full(3, total)
    yield "lengths of tuples", local(lambda x, b: ingot.psum(len(b), "x"))(np.ones(3), (1.0,) * (1 + rank)), total + comm.size
    maybe = local(lambda x, scale=None: ingot.psum(1.0 if scale is None else scale, "x"))
    yield "an argument of one rank", maybe(np.ones(2)) if rank == 0 else maybe(np.ones(2), 2.5), np.float64(1 + 2.5 * last)


def differing(mesh, comm):
    """The exceptions of ranks that come with different things; the mesh works afterwards."""
    first = comm.rank == 0
    operands = [np.ones(3 + comm.rank), np.ones(1000 if first else 100), np.ones((2, 2) if first else (4, 1)), np.ones(3, float if first else np.int64)]
    cases = [(lambda x: ingot.psum(x, "x"), x) for x in operands] + [(lambda x: ingot.all_gather(x, "x", tiled=True), operands[1])]
    cases.append((ingot.jit(lambda x: ingot.pmean(x, "x") if first else ingot.psum(x, "x")), np.ones(3)))
    cases.append((lambda x: ingot.all_to_all(x, "x", 0, 0) if first else ingot.psum(x, "x"), np.ones((comm.size, 100))))
    cases.append((lambda x: ingot.ppermute(x, "x", [(0, 1)] if first else [(1, 0)]), np.ones(100)))
    for k, (function, operand) in enumerate(cases):
        yield f"case {k}", raised_by(ingot.shard_map(function, mesh, local=True), operand), "come to different collectives"
        yield f"after case {k}", ingot.shard_map(lambda x: ingot.psum(x, "x"), mesh, local=True)(np.ones(2)), np.full(2, float(comm.size))
    two = ingot.shard_map(lambda x: (x, x) if first else x, mesh, P("x"), P("x"))
    yield "structures", raised_by(two, np.ones(4)), "return different structures"
    parts = ingot.shard_map(lambda x: x[:0] if first else x, mesh, P("x"), P("x"))
    yield "blocks", raised_by(parts, np.ones(4)), "return blocks that differ"


def raised_by(function, *arguments):
    """Of the message of the ValueError that a call raises, what is looked for."""
    try:
        return function(*arguments)
    except ValueError as error:
        known = ("come to different collectives", "return different structures", "return blocks that differ")
        return next((text for text in known if text in str(error)), str(error))


def main():
    from mpi4py import MPI

    comm, wrong = MPI.COMM_WORLD, []
    for is_grid in (False, True):
        shape = shape_of(comm.size, is_grid)
        ranks, threads = ingot.Mesh(shape, comm), ingot.Mesh(shape)
        for name, function, in_specs, out_specs, arguments, _ in PROGRAMS:
            got = ingot.shard_map(function, ranks, in_specs, out_specs)(*arguments)
            expected = ingot.shard_map(function, threads, in_specs, out_specs)(*arguments)
            if not same(got, expected):
                wrong.append(name)
                print(f"rank {comm.rank}, {shape}: {name} gives {got}, on threads {expected}", flush=True)
    line = ingot.Mesh({"x": comm.size}, comm)
    for what, got, expected in [*alone(line, comm), *differing(line, comm)]:
        if not same(got, expected):
            wrong.append(what)
            print(f"rank {comm.rank}: {what} gives {got}, not {expected}", flush=True)
    sys.exit(len(wrong))


if __name__ == "__main__":
    main()
