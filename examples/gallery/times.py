"""The gallery's programs timed: `python examples/gallery/times.py [--only NAME...] [--seconds S] [--one-core] [--small] [--page]`.

Each program runs under Ingot, NumPy, Numba and JAX, each with all cores: first calls one after the other, then all
of them alternately, and the least time of each counts. Before that results are compared. Figures are kept in
docs/gallery/times.json; `--page` writes them into the gallery's pages. On a busy machine `--one-core` gives each one
thread, and counts the processor's time.
"""

import os
import sys

if __name__ == "__main__":
    os.environ["INGOT_CACHE"] = "off"  # first calls compile
    if "--one-core" in sys.argv:
        for library in ("OMP", "OPENBLAS", "NUMBA", "INGOT"):
            os.environ[f"{library}_NUM_THREADS"] = "1"
        os.environ["NPROC"], os.environ["XLA_FLAGS"] = "1", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import argparse
import copy
import importlib.metadata
import json
import re
import time
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ingot
import numpy as np

FOLDER = Path(__file__).resolve().parent
PAGES = FOLDER.parents[1] / "docs" / "gallery"
sys.path.insert(0, str(FOLDER))

import cosmic_web
import denoise
import disasters
import el_nino
import gravitational_wave
import ising
import molecules
import neural_field
import neurons
import options
import pagerank
import peers
import spirals
import swing_up
import turing_patterns
import vortex_street

CONTESTANTS = ("ingot", "numpy", "numba", "jax")
NAMES = {"ingot": "Ingot", "numpy": "NumPy", "numba": "Numba", "jax": "JAX"}


def first(result, arguments):
    return result[0]


def whole(result, arguments):
    return result


def changed(count):
    """A program's results, where it changes its first arguments: those, if it is not JAX's, which returns them."""
    return lambda result, arguments: result if result is not None else arguments[:count]


@dataclass
class Case:
    """A program, its arguments for timing and for tests, and how peers do the same; a string is why one cannot."""

    title: str
    size: str
    function: Callable
    arguments: Callable[[bool], tuple]
    numpy: Callable | str
    numba: Callable | str
    jax: Callable
    found: Callable = whole
    """The part of a result that is compared."""
    other: tuple[str, ...] = ()
    """Contestants with other random numbers, whose results are not compared."""
    notes: str = ""


def rng():
    return np.random.default_rng(1)


def spins_of(result, arguments):
    return arguments[0]


def field_of(result, arguments):
    return arguments[0] if result is None or isinstance(result, tuple) else result


def plain_bank(masses, *others):
    return np.stack([gravitational_wave.matched(m, *others) for m in masses])


def molecules_of(small):
    *state, box = molecules.gas(64 if small else 900, 1.9, rng())
    return *state, box, 5 if small else 20, 0.004, 0.35


def neurons_of(small):
    return *neurons.network(*((40, 10) if small else (800, 200)), rng()), 60 if small else 1000, rng()


def waves_of(small):
    g = rng()
    samples = 512 if small else 8192
    times = np.arange(samples) / gravitational_wave.RATE
    data, power = gravitational_wave.observe(samples, 28.1, 0.7 * times[-1], 0.5, g)
    return np.linspace(15, 45, 4 if small else 200), np.fft.fft(data), power, times - times[-1]


def web_of(small):
    pages = 500 if small else 200_000
    return *pagerank.compressed(pagerank.grow(pages, 8, rng()), pages), 0.85, 1e-10


def spirals_of(small):
    g = rng()
    return spirals.random_weights(8 if small else 32, g), *spirals.spirals(40 if small else 400, g), 10 if small else 200, 0.01


def neural_field_of(small):
    layers = neural_field.random_network((2, 8, 8, 1) if small else (2, 32, 32, 1), rng()).layers
    places = rng().uniform(-1, 1, (40 if small else 1000, 2))
    weights = [array for layer in layers for array in (layer.weights, layer.bias)]
    return tuple(weights), places, neural_field.waves(places), 10 if small else 200, 0.003


def neural_field_losses(weights, places, heights, steps, rate):
    layers = tuple([neural_field.Linear(*weights[k : k + 2]) for k in (0, 2, 4)])
    return neural_field.train(neural_field.Network(layers, neural_field.sine), places, heights, steps, rate)[1]


NO_FFT = "has no `np.fft`"
BY_HAND = "derivatives written by hand"
CASES = {
    "molecules": Case("Molecules", "900 atoms, 20 steps", molecules.simulate, molecules_of, molecules.simulate.__wrapped__,
        molecules.simulate.__wrapped__, peers.jax_molecules, notes="JAX: all pairs as one array."),
    "vortex_street": Case("Fluids", "360 × 120 cells, 100 steps", vortex_street.flow,
        lambda s: (*vortex_street.channel(*((20, 40) if s else (120, 360)), 0.1), 0.1, 1.8, 10 if s else 100),
        peers.numpy_vortex_street, vortex_street.flow.__wrapped__, peers.jax_vortex_street, field_of,
        notes="NumPy and JAX: whole arrays, `roll`."),
    "el_nino": Case("Oceans", "560 × 240 cells, 100 steps", el_nino.waves,
        lambda s: (*el_nino.pacific(*((20, 30) if s else (240, 560))), 10 if s else 100),
        el_nino.waves.__wrapped__, el_nino.waves.__wrapped__, peers.jax_el_nino, changed(3)),
    "neurons": Case("Neurons", "1000 cells, 1000 ms", neurons.simulate, neurons_of, peers.numpy_neurons,
        neurons.simulate.__wrapped__, peers.jax_neurons, other=("jax",), notes="JAX: other random numbers."),
    "cosmic_web": Case("Cosmology", "256² particles, 10 steps", cosmic_web.evolve,
        lambda s: (*cosmic_web.young(16 if s else 256, 0.02, rng()), 0.02, 0.1, 4 if s else 10),
        peers.numpy_cosmic_web, NO_FFT, peers.jax_cosmic_web, notes="NumPy: `bincount` for the density."),
    "denoise": Case("Images", "256 × 256 pixels, 13 × 13 neighbours", denoise.bilateral,
        lambda s: (denoise.phantom(20 if s else 256) + 0.08 * rng().normal(size=(20 if s else 256,) * 2), 2 if s else 6, 3.0, 0.25),
        peers.numpy_denoise, denoise.bilateral.__wrapped__, peers.jax_denoise, notes="NumPy and JAX: an array for each neighbour."),
    "gravitational_wave": Case("Signals", "200 templates, 8192 samples", gravitational_wave.bank, waves_of, plain_bank,
        NO_FFT, peers.jax_gravitational_wave, notes="NumPy: a Python loop over the templates."),
    "pagerank": Case("Graphs", "200 000 pages, 1 600 000 links", pagerank.pagerank, web_of, peers.scipy_pagerank,
        pagerank.pagerank.__wrapped__, peers.jax_pagerank, first, notes="NumPy: SciPy's sparse product."),
    "ising": Case("Monte Carlo", "200 × 200 spins, 20 sweeps", ising.sweeps,
        lambda s: (rng().choice(np.array([-1, 1]), (12 if s else 200,) * 2), 2.3, 5 if s else 20, rng()),
        peers.numpy_ising, ising.sweeps.__wrapped__, peers.jax_ising, spins_of, ("numpy", "jax"),
        "NumPy and JAX: all spins of one colour of a chessboard at once, other random numbers."),
    "options": Case("Finance", "11 prices, 20 000 paths of 50 steps", options.curve,
        lambda s: (np.linspace(80, 120, 3 if s else 11), 0.25, 100.0, 0.03, 1.0, rng().normal(size=(5, 100) if s else (50, 20_000))),
        peers.differences(options.asian_call), lambda compile: peers.differences(compile(options.asian_call)), peers.jax_options,
        notes="NumPy and Numba: derivatives by differences."),
    "disasters": Case("Statistics", "20 000 draws", disasters.sample, lambda s: (disasters.COUNTS, 50 if s else 20_000, rng()),
        disasters.sample.__wrapped__, disasters.sample.__wrapped__, peers.jax_disasters, other=("jax",),
        notes="JAX: other random numbers."),
    "swing_up": Case("Control", "cost and derivative, 150 steps", swing_up.slope, lambda s: (rng().normal(size=20 if s else 150),),
        "has no derivatives", "has no derivatives", peers.jax_swing_up),
    "spirals": Case("Learning", "400 points, 3 layers, 200 iterations", spirals.train, spirals_of, peers.numpy_spirals,
        lambda compile: compile(peers.numpy_spirals), peers.jax_spirals,
        lambda result, arguments: result[1] if isinstance(result, tuple) else result, notes=f"NumPy and Numba: {BY_HAND}."),
    "neural_field": Case("Neural fields", "1000 places, 3 layers, 200 steps", neural_field_losses, neural_field_of, peers.numpy_neural_field,
        lambda compile: compile(peers.numpy_neural_field), peers.jax_neural_field, notes=f"NumPy and Numba: {BY_HAND}."),
    "turing_patterns": Case("Reaction and diffusion", "256 × 256 cells, 500 steps", turing_patterns.react,
        lambda s: (*turing_patterns.dish(24 if s else 256, 10, rng()), 10 if s else 500, 0.04, 0.06),
        turing_patterns.react.__wrapped__, turing_patterns.react.__wrapped__, peers.jax_turing_patterns, changed(2)),
}  # fmt: skip


def for_numba(function: Callable) -> Callable:
    """The function compiled by Numba, its callees too, with Numba's `prange` if there is one."""
    import numba

    parallel = False

    def compiled(function: Callable) -> Callable:
        nonlocal parallel
        names = dict(function.__globals__)
        for name in function.__code__.co_names:
            value = names.get(name)
            if isinstance(value, types.FunctionType) and value.__module__ == function.__module__:
                names[name] = compiled(value)
        if "prange" in function.__code__.co_names:
            names["ingot"], parallel = numba, True
        made = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)
        made.__module__ = function.__module__
        return numba.njit(made, parallel="prange" in function.__code__.co_names, error_model="numpy")

    return compiled(function)


def for_jax(function: Callable, arguments: tuple) -> Callable:
    import jax

    static = tuple(i for i, a in enumerate(arguments) if isinstance(a, int))
    made = jax.jit(function, static_argnums=static)
    return lambda *arguments: jax.block_until_ready(made(*arguments))


def for_device(arguments: tuple) -> tuple:
    """The arguments as JAX takes them: its own arrays, a key for a generator."""
    import jax

    made = [jax.random.PRNGKey(1) if isinstance(a, np.random.Generator) else a for a in arguments]
    return tuple(jax.tree.map(lambda a: jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a, a) for a in made)


def contestants(case: Case, arguments: tuple) -> dict[str, Callable]:
    made = {"ingot": case.function}
    if callable(case.numpy):
        made["numpy"] = case.numpy
    if callable(case.numba):
        makes = case.numba.__name__ == "<lambda>"
        made["numba"] = case.numba(for_numba) if makes else for_numba(case.numba)
    made["jax"] = for_jax(case.jax, arguments)
    return made


def leaves(value: Any) -> list[np.ndarray]:
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in leaves(v)]
    return [] if value is None else [np.asarray(value)]


def compare(name: str, found: Any, expected: Any) -> None:
    """Raises AssertionError where a peer's result is not Ingot's, to what rounding and differences do."""
    found, expected = leaves(found), leaves(expected)
    assert sum(a.size for a in found) == sum(a.size for a in expected), name
    a, b = (np.concatenate([v.ravel() for v in vs]) for vs in (found, expected))
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6 * max(1e-300, float(np.max(np.abs(b)))), err_msg=name)


def complete(function: Any) -> None:
    """Waits for full code, which is what is timed."""
    for specialisation in getattr(function, "specialisations", ()):
        specialisation.complete()


def run_case(case: Case, small: bool, seconds: float, now: Callable[[], float] = time.perf_counter) -> dict:
    """First calls and least times in s, and why a contestant is not among them."""
    arguments = case.arguments(small)
    made, expected, figures = contestants(case, arguments), None, {}
    for name, run in made.items():
        own = for_device(arguments) if name == "jax" else copy.deepcopy(arguments)
        start = now()
        try:
            result = run(*own)
        except Exception as error:
            figures[name] = {"refused": f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"}
            continue
        figures[name] = {"first": now() - start, "least": np.inf, "rounds": 0}
        found = case.found(result, own)
        if expected is None:
            expected = found
        elif name not in case.other:
            compare(name, found, expected)
        complete(run)
    begin = time.perf_counter()
    runs = {name: run for name, run in made.items() if "refused" not in figures[name]}
    while (spent := time.perf_counter() - begin) < seconds or figures["ingot"]["rounds"] < 3:
        for name, run in runs.items():
            if figures[name]["rounds"] >= 3 and figures[name]["least"] > 0.05 * seconds and spent > 0.5 * seconds:
                continue  # what is slow has had its rounds
            own = for_device(arguments) if name == "jax" else copy.deepcopy(arguments)
            start = now()
            run(*own)
            figures[name]["least"] = min(figures[name]["least"], now() - start)
            figures[name]["rounds"] += 1
    for name in ("numpy", "numba"):
        if isinstance(getattr(case, name), str):
            figures[name] = {"refused": getattr(case, name)}
    return figures


def machine(one_core: bool) -> dict[str, str]:
    from ingot._devices.cpu import describe_cpu

    versions = {name: importlib.metadata.version(name) for name in CONTESTANTS[1:]}
    return {"date": time.strftime("%Y-%m-%d"), "cpu": describe_cpu()["name"], "cores": "1" if one_core else str(len(os.sched_getaffinity(0))),
            "load": f"{os.getloadavg()[0]:.0f}", "ingot": ingot.__version__, **versions}  # fmt: skip


def where(what: dict) -> str:
    """The machine, the day, and whether it was busy."""
    cores, load = int(what["cores"]), float(what["load"])
    used = f"{cores} cores" if cores > 1 else "one core (the processor's time)"
    busy = f", while {load:.0f} processes ran" if load > 1.5 * cores else ""
    return f"{used} of an {what['cpu']}{busy}, {what['date']}"


def milliseconds(seconds: float) -> str:
    ms = 1e3 * seconds
    return f"{ms:,.0f}".replace(",", " ") if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}" if ms >= 1 else f"{ms:.3f}"


def table(name: str, kept: dict) -> str:
    """The times of a program, for its page."""
    case, figures = CASES[name], kept["programs"][name]
    what = kept["machines"][name]
    best = min(f["least"] for f in figures.values() if "least" in f)
    lines = [f"{case.size}; {where(what)}; ms, the least of alternating calls:", ""]
    lines += ["| | first call | then | Ingot is |", "|---|--:|--:|---|"]
    for contestant in CONTESTANTS:
        f, label = figures[contestant], f"{NAMES[contestant]} {'.'.join(what[contestant].split('.')[:2])}"
        if "refused" in f:
            lines.append(f"| {label} | - | {f['refused']} | - |")
            continue
        then = f"**{milliseconds(f['least'])}**" if f["least"] == best else milliseconds(f["least"])
        ratio = f["least"] / figures["ingot"]["least"]
        verdict = "-" if contestant == "ingot" else f"{ratio:.1f} times as fast" if ratio >= 1 else f"**slower**, {ratio:.2f} times as fast"
        lines.append(f"| {label} | {'-' if contestant == 'numpy' else milliseconds(f['first'])} | {then} | {verdict} |")
    return "\n".join([*lines, "", case.notes]).rstrip()


def summary(kept: dict) -> str:
    """The times of all programs, those first in which a peer is faster than Ingot."""
    rows = []
    for name, figures in kept["programs"].items():
        mine = figures["ingot"]["least"]
        lead = min((f["least"] for c, f in figures.items() if c != "ingot" and "least" in f), default=np.inf) / mine
        cells = []
        for contestant in CONTESTANTS:
            f = figures[contestant]
            cell = milliseconds(f["least"]) if "least" in f else "-"
            cells.append(f"**{cell}**" if f.get("least") == min(g["least"] for g in figures.values() if "least" in g) else cell)
        rows.append((lead, f"| [{CASES[name].title}]({name}.md) | {CASES[name].size} | " + " | ".join(cells) + " |"))
    head = ["| | size | " + " | ".join(NAMES[c] for c in CONTESTANTS) + " |", "|---|---|--:|--:|--:|--:|"]
    what = max(kept["machines"].values(), key=lambda m: float(m["load"]))
    text = f"Times in ms on {where(what)}: the least of alternating calls, the fastest in bold; what Ingot loses comes first. "
    text += ", ".join(f"{NAMES[c]} {what[c]}" for c in CONTESTANTS) + "."
    return "\n".join([text, "", *head, *(row for _, row in sorted(rows, key=lambda r: r[0]))])


def write_pages(kept: dict) -> None:
    for path in PAGES.glob("*.md"):
        text = path.read_text()
        if path.stem in kept["programs"]:
            text = filled(text, table(path.stem, kept))
        elif path.stem == "index":
            text = filled(text, summary(kept))
        path.write_text(text)


def filled(text: str, lines: str) -> str:
    """The page with what is between its marks replaced."""
    return re.sub(r"(?<=<!-- times -->\n).*?(?=<!-- end of times -->)", lambda _: f"\n{lines}\n\n", text, flags=re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(CASES), metavar="NAME", help="only these programs; none: only pages")
    parser.add_argument("--seconds", type=float, default=8.0, help="for how long the contestants of a program alternate (8)")
    parser.add_argument("--one-core", action="store_true", help="one thread each, and the processor's time")
    parser.add_argument("--small", action="store_true", help="small arguments, for tests; nothing is kept")
    parser.add_argument("--page", action="store_true", help="write the figures into the gallery's pages")
    asked = parser.parse_args()
    import jax

    jax.config.update("jax_enable_x64", True)
    path = PAGES / "times.json"
    kept = json.loads(path.read_text()) if path.exists() else {"machines": {}, "programs": {}}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in asked.only:
            figures = run_case(CASES[name], asked.small, asked.seconds, time.process_time if asked.one_core else time.perf_counter)
            kept["programs"][name], kept["machines"][name] = figures, machine(asked.one_core)
            shown = (f"{c} {milliseconds(f['first'])} {milliseconds(f['least'])}" if "least" in f else f"{c}: {f['refused']}" for c, f in figures.items())
            print(f"{name}: " + ", ".join(shown), flush=True)
            if not asked.small:
                kept["programs"] = {n: kept["programs"][n] for n in CASES if n in kept["programs"]}
                path.parent.mkdir(exist_ok=True)
                path.write_text(json.dumps(kept, indent=1) + "\n")
    if asked.page:
        write_pages(kept)


if __name__ == "__main__":
    main()
