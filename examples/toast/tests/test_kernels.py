"""The ten kernels: values of compiled TOAST, undecorated and compiled; the rules of intervals, flags and tables; what raises.

Each rule is in the kernels' page; expected values are the oracle's (`oracle/README.md`), or those of the same
function run by CPython.
"""

from __future__ import annotations

import inspect
from typing import Any

import ingot
import numpy as np
import oracle_cases
import pytest
import second_forms
from ingot_toast import judged, kernels
from oracle_cases import NO_DET_FLAGS, NO_FLAGS, NO_PLATE, Case, difference, records, table

CASES = oracle_cases.cases()
NAMES = sorted({case.kernel for case in CASES})
FIRST = {case.kernel: case for case in reversed(CASES) if not case.name.startswith("special")}
WITH_INTERVALS = [name for name in NAMES if name != "template_offset_apply_diag_precond"]


def kernel_of(name: str) -> Any:
    return getattr(kernels, name)


def undecorated(name: str) -> Any:
    """The Python function below the decorator, called with TOAST's arguments."""
    function = kernel_of(name)
    plain, arguments = inspect.unwrap(getattr(function, "py_func", function)), getattr(judged, name).__wrapped__
    return lambda *given: plain(*arguments(*given))


def place(name: str, parameter: str) -> int:
    return list(inspect.signature(getattr(judged, name)).parameters).index(parameter)


def called(function: Any, case: Case, calls: list[tuple[Any, ...]] | None = None) -> dict[int, np.ndarray]:
    """What the outputs hold after a chain of calls; nothing else has changed."""
    held = {at: (calls or case.calls)[0][at].copy() for at in case.outputs}
    for call in calls or case.calls:
        given = [held[at] if at in held else a.copy() if isinstance(a, np.ndarray) else a for at, a in enumerate(call)]
        assert function(*given) is None
        for at, argument in enumerate(call):
            if isinstance(argument, np.ndarray) and at not in held:
                assert given[at].tobytes() == argument.tobytes(), f"argument {at} was changed"
    return held


def assert_oracle(case: Case, held: dict[int, np.ndarray], wanted: dict[int, np.ndarray]) -> None:
    for at, values in wanted.items():
        told = difference(held[at], values, case.calls[0][at], case.tolerance, case.on_borders)
        assert not told, f"{case}: {told}"


def changed(case: Case, **arguments: Any) -> list[tuple[Any, ...]]:
    """The calls of a case with other arguments, by name."""
    places = {place(case.kernel, name): value for name, value in arguments.items()}
    return [tuple(places.get(at, value) for at, value in enumerate(call)) for call in case.calls]


def small(case: Case) -> list[tuple[Any, ...]]:
    """The calls of a case over its first three intervals: 138 samples, one of them empty."""
    if case.kernel not in WITH_INTERVALS:
        return case.calls
    spans = case.calls[0][place(case.kernel, "intervals")]
    if case.name.startswith("special"):
        return changed(case, intervals=records([[0, 60], [300, 310], [4400, 4440]]) if "pixels" in case.kernel else records([[0, 90]]))
    if case.kernel.startswith("template"):
        counts = case.calls[0][place(case.kernel, "n_amp_views")]
        return changed(case, intervals=spans[:3], n_amp_views=counts[:3])
    return changed(case, intervals=spans[:3])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_are_those_of_compiled_toast(case: Case) -> None:
    assert_oracle(case, called(getattr(judged, case.kernel), case), case.outputs)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_functions_run_by_cpython_give_the_same(name: str) -> None:
    for case in CASES:
        if case.kernel == name:
            calls = small(case)
            compiled = called(getattr(judged, name), case, calls)
            plain = called(undecorated(name), case, calls)
            tolerance = 1e-12 if isinstance(case.tolerance, np.ndarray) else case.tolerance
            for at in case.outputs:
                told = difference(plain[at], compiled[at], case.calls[0][at], tolerance, case.on_borders)
                assert not told, f"{case}: {told}"


@pytest.mark.parametrize("name", NAMES)
def test_a_second_form_gives_the_same(name: str) -> None:
    second = getattr(second_forms, name)
    compiled = ingot.jit(second)
    for case in CASES:
        if case.kernel == name and case.name not in ("64_ring_mask1", "special-1_nest", "special-1_ring"):
            assert_oracle(case, called(compiled, case), case.outputs)


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_threads_changes_no_bit(name: str) -> None:
    case, before = FIRST[name], ingot.get_num_threads()
    repeated = case.calls
    bits = set()
    try:
        for threads in (1, 2, 3):
            ingot.set_num_threads(threads)
            held = called(getattr(judged, name), case, repeated)
            bits.add(tuple(held[at].tobytes() for at in sorted(held)))
    finally:
        ingot.set_num_threads(before)
    assert len(bits) == 1


@pytest.mark.parametrize("name", NAMES)
def test_kernels_run_on_a_device(name: str) -> None:
    case = FIRST[name]
    calls = small(case)
    wanted = called(getattr(judged, name), case, calls)
    held = {at: judged.to_device(calls[0][at].copy()) for at in case.outputs}
    for call in calls:
        given = [held.get(at, judged.to_device(a) if isinstance(a, np.ndarray) else a) for at, a in enumerate(call)]
        getattr(judged, name)(*given)
    judged.synchronize()
    for at, values in wanted.items():
        assert judged.to_host(held[at]).tobytes() == values.tobytes()


def interval_calls(name: str, spans: Any, code: str = "q") -> list[tuple[Any, ...]]:
    case = FIRST[name]
    made = {"intervals": records(spans, code)}
    if name.startswith("template"):
        step = case.calls[0][place(name, "step_length")]
        made["n_amp_views"] = np.array([max(0, -(-(b - a) // step)) for a, b in np.asarray(spans).reshape(-1, 2)], np.int64)
    return changed(case, **made)


@pytest.mark.parametrize("name", WITH_INTERVALS)
@pytest.mark.parametrize(
    "spans",
    [[], [[7, 7]], [[9, 3]], [[0, 0], [2000, 2000], [5000, 5000], [-3, -7], [-5, -5], [5, -1]], [[40, 90], [3, 20]], [[0, 30], [30, 60]],
     [[10, 50], [20, 60], [10, 50]], [[1999, 2000], [0, 1]]],
    ids=str,
)  # fmt: skip
def test_intervals_are_processed_one_after_the_other(name: str, spans: Any) -> None:
    case = FIRST[name]
    calls = interval_calls(name, spans)
    held, plain = called(getattr(judged, name), case, calls), called(undecorated(name), case, calls)
    for at in case.outputs:
        told = difference(held[at], plain[at], case.calls[0][at], 1e-12)
        assert not told
        if all(a >= b for a, b in spans):
            assert held[at].tobytes() == case.calls[0][at].tobytes()


@pytest.mark.parametrize("name", WITH_INTERVALS)
def test_both_codes_of_integers_are_the_same(name: str) -> None:
    held = [called(getattr(judged, name), FIRST[name], interval_calls(name, [[3, 70], [90, 100]], code)) for code in "lq"]
    assert all(held[0][at].tobytes() == held[1][at].tobytes() for at in held[0])


@pytest.mark.parametrize("name", WITH_INTERVALS)
@pytest.mark.parametrize("span", [[1990, 2001], [-1, 5], [-7, 2000], [0, 2**62], [3000, 4000], [-20, -10]], ids=str)
def test_an_interval_that_reaches_outside_raises(name: str, span: list[int]) -> None:
    for function in (getattr(judged, name), undecorated(name)):
        with pytest.raises((IndexError, ValueError)):
            called(function, FIRST[name], interval_calls(name, [[0, 9], span]))


def test_one_sample_without_flags() -> None:
    """TOAST's sign for no flags is one column and no row, which is also the shape of flags of one sample."""
    case = next(c for c in CASES if c.kernel == "build_noise_weighted" and c.name == "noflags")
    whole = dict(zip(inspect.signature(judged.build_noise_weighted).parameters, case.calls[0], strict=True))
    one = {"pixels": whole["pixels"][:, 5:6], "weights": whole["weights"][:, 5:6], "det_data": whole["det_data"][:, 5:6],
           "intervals": records([[0, 1]])}  # fmt: skip
    expected = called(undecorated("build_noise_weighted"), case, changed(case, **one, flag_index=table(0, 0, 0)))[1]
    for function in (judged.build_noise_weighted, undecorated("build_noise_weighted")):
        got = called(function, case, changed(case, **one))[1]
        assert np.any(got != whole["zmap"]) and np.allclose(got, expected, rtol=1e-12)
        with pytest.raises(IndexError):
            called(function, case, changed(case, **one, flag_index=table(0, -1, 0)))


TABLES = {
    "pointing_detector": ["quat_index"],
    "pixels_healpix": ["quat_index", "pixel_index"],
    "stokes_weights_I": ["weight_index"],
    "stokes_weights_IQU": ["quat_index", "weight_index"],
    "scan_map": ["data_index", "pixel_index", "weight_index"],
    "noise_weight": ["data_index"],
    "build_noise_weighted": ["pixel_index", "weight_index", "data_index", "flag_index"],
}


@pytest.mark.parametrize(("name", "parameter"), [(name, each) for name, all_of in TABLES.items() for each in all_of])
def test_a_table_of_another_length_or_with_a_row_that_is_not_there_raises(name: str, parameter: str) -> None:
    case = next(c for c in CASES if c.kernel == name and c.name in (FIRST[name].name if "build" not in name else "det1"))
    own = case.calls[0][place(name, parameter)]
    for function in (getattr(judged, name), undecorated(name)):
        for wrong in (own[:-1], np.append(own, own[:1]), np.where(own == own[0], 4, own), np.where(own == own[0], -1, own)):
            with pytest.raises((IndexError, ValueError)):
                called(function, case, changed(case, **{parameter: wrong.astype(np.int32)}))


@pytest.mark.parametrize("name", ["template_offset_add_to_signal", "template_offset_project_signal"])
def test_amplitudes_and_rows_that_are_not_there_raise(name: str) -> None:
    case = FIRST[name]
    n_amp = len(case.calls[0][place(name, "amplitudes")])
    wrongs: list[dict[str, Any]] = [{"amp_offset": n_amp - 5}, {"amp_offset": -1}, {"data_index": 4}, {"data_index": -1}, {"step_length": 0},
                                    {"step_length": 1}, {"n_amp_views": np.zeros(2, np.int64)},
                                    {"amplitude_flags": np.zeros(n_amp - 1, np.uint8)}]  # fmt: skip
    if "project" in name:
        wrongs.append({"flag_index": 4})
    for function in (getattr(judged, name), undecorated(name)):
        for wrong in wrongs:
            with pytest.raises((IndexError, ValueError)):
                called(function, case, changed(case, **wrong)[:1])


@pytest.mark.parametrize("name", ["scan_map", "build_noise_weighted"])
def test_a_pixel_that_is_not_local_raises(name: str) -> None:
    case = FIRST[name]
    local = case.calls[0][0]
    pixels = case.calls[0][place(name, "pixels")]
    far = np.where(np.arange(pixels.shape[1]) == 100, 3072 * len(local), pixels)
    for function in (getattr(judged, name), undecorated(name)):
        for wrong in ({"global2local": np.full_like(local, -1)}, {"global2local": np.full_like(local, -2)}, {"pixels": far},
                      {"global2local": local + 100}):  # fmt: skip
            with pytest.raises((IndexError, ValueError)):
                called(function, case, changed(case, **wrong))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_attitudes_that_are_not_finite_have_no_pixel(bad: float) -> None:
    case = FIRST["pixels_healpix"]
    quats = case.calls[0][1].copy()
    for k in range(4):
        quats[:, 40 + k, k] = bad
    quats[:, 50] = bad
    hits = np.zeros_like(case.calls[0][7])
    for function in (judged.pixels_healpix, undecorated("pixels_healpix")):
        held = called(function, case, changed(case, quats=quats, hit_submaps=hits, intervals=records([[40, 44], [50, 51]])))
        rows = case.calls[0][4]
        assert np.all(held[5][rows, 40:44] == -1) and np.all(held[5][rows, 50] == -1) and not held[7].any()


@pytest.mark.parametrize("nest", [True, False])
def test_exact_poles_and_beyond(nest: bool) -> None:
    half = np.sqrt(0.5)
    north, south, south_y, beyond = (0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (half, half * (1 + 1e-15), 0.0, 0.0)
    turned = (0.0, 0.0, half, half)
    quats = np.array([[north, south, south_y, turned, beyond, tuple(-q for q in north), tuple(-q for q in south)]])
    nside, n = 2**29, quats.shape[1]
    for function in (judged.pixels_healpix, undecorated("pixels_healpix")):
        pixels, hits = np.full((1, n), -9), np.zeros(5, np.uint8)
        function(table(0), quats, NO_FLAGS, 0, table(0), pixels, records([[0, n]]), hits, 12 * nside**2 // 4 + 7, nside, nest)
        first = nside**2 - 1 if nest else 0
        last = 8 * nside**2 if nest else 12 * nside**2 - 4
        assert pixels[0].tolist() == [first, last, last, first, last, first, last]
        assert hits.tolist() == [1, 0, 1 if nest else 0, 0 if nest else 1, 0]
    weights = np.zeros((1, n, 3))
    judged.stokes_weights_IQU(table(0), quats, table(0), weights, NO_PLATE, records([[0, 4]]), np.zeros(1), np.zeros(1), np.ones(1), False)
    assert np.allclose(weights[0, :4, 1:], [[1, 0], [1, 0], [1, 0], [-1, 0]], atol=1e-15)


def test_nan_stays_in_its_sample() -> None:
    case = FIRST["stokes_weights_IQU"]
    quats = case.calls[0][1].copy()
    quats[:, 20, 2] = np.nan
    held, clean = called(judged.stokes_weights_IQU, case, changed(case, quats=quats))[3], called(judged.stokes_weights_IQU, case)[3]
    rows = case.calls[0][2]
    assert np.isnan(held[rows, 20, 1:]).all()
    held[:, 20], clean[:, 20] = 0.0, 0.0
    assert held.tobytes() == clean.tobytes()


def test_flags_that_are_no_flags_by_their_shape() -> None:
    case = FIRST["pointing_detector"]
    n = case.calls[0][1].shape[0]
    unflagged = called(judged.pointing_detector, case, changed(case, shared_flags=NO_FLAGS, shared_flag_mask=1))[3]
    for flags in (np.full(1, 255, np.uint8), np.full(n - 1, 255, np.uint8), np.full(n + 1, 255, np.uint8), np.zeros(0, np.uint8)):
        held = called(judged.pointing_detector, case, changed(case, shared_flags=flags, shared_flag_mask=255))[3]
        assert held.tobytes() == unflagged.tobytes()
    held = called(judged.pointing_detector, case, changed(case, shared_flags=np.full(n, 128, np.uint8), shared_flag_mask=128))[3]
    inside = np.concatenate([np.arange(r.first, r.last) for r in case.calls[0][4]])
    assert np.array_equal(held[case.calls[0][2]][:, inside], np.repeat(case.calls[0][0][:, None], len(inside), 1))


def test_placeholders_of_one_sample_are_flags() -> None:
    view = records([[0, 1]])
    for function in (judged.build_noise_weighted, undecorated("build_noise_weighted")):
        for flags, shared, wanted in ((0, 0, 6.0), (1, 0, 0.0), (0, 1, 0.0)):
            sky = np.zeros((1, 4, 1))
            function(np.zeros(1, np.int64), sky, table(0), np.full((1, 1), 2), table(0), np.full((1, 1), 3.0), table(0), np.full((1, 1), 2.0),
                     table(0), np.full((1, 1), flags, np.uint8), np.ones(1), 1, view, np.full(1, shared, np.uint8), 1)  # fmt: skip
            assert sky[0, 2, 0] == wanted
    for function in (judged.stokes_weights_IQU, undecorated("stokes_weights_IQU")):
        weights = np.zeros((1, 1, 3))
        quats = np.array([[[0.5, 0.5, 0.5, 0.5]]])
        function(table(0), quats, table(0), weights, np.full(1, 0.3), view, np.zeros(1), np.full(1, 0.1), np.ones(1), False)
        alpha = np.arctan2(0.5, 0.0)
        assert np.allclose(weights[0, 0], [1.0, np.cos(2 * (alpha + 0.4)), np.sin(2 * (alpha + 0.4))], atol=1e-14)


def test_data_of_flagged_samples_never_enter() -> None:
    case = next(c for c in CASES if c.kernel == "build_noise_weighted" and c.name == "det1")
    names = ("data_index", "det_data", "flag_index", "det_flags")
    index, signal, of_flags, flags = (case.calls[0][place(case.kernel, name)] for name in names)
    poisoned = signal.copy()
    for d in range(3):
        poisoned[index[d]][flags[of_flags[d]] & 1 != 0] = np.nan
    assert np.isnan(poisoned).any()
    assert_oracle(case, called(judged.build_noise_weighted, case, changed(case, det_data=poisoned)), case.outputs)
    case = next(c for c in CASES if c.kernel == "template_offset_project_signal" and c.name == "flags")
    poisoned = signal.copy()
    for call in case.calls:
        poisoned[call[0]][call[3][call[2]] & call[4] != 0] = np.inf
    assert_oracle(case, called(judged.template_offset_project_signal, case, changed(case, det_data=poisoned)), case.outputs)
    # A detector without flags of its own, and flags that are none by their shape.
    for wrong in ({"flag_index": -1}, {"flag_data": NO_DET_FLAGS, "flag_index": 0}, {"flag_data": np.full((9, 7), 255, np.uint8)}):
        unflagged = next(c for c in CASES if c.kernel == "template_offset_project_signal" and c.name == "noflags")
        assert_oracle(unflagged, called(judged.template_offset_project_signal, unflagged, changed(case, **wrong)), unflagged.outputs)


def test_collisions_are_summed_in_the_order_of_samples() -> None:
    rng = np.random.default_rng(3)
    n, n_det = 3000, 5
    pixels, weights, data = rng.integers(-1, 3, (n_det, n)), rng.random((n_det, n, 3)), rng.random((n_det, n))
    index, local = np.arange(n_det, dtype=np.int32), np.zeros(1, np.int64)
    results = []
    for threads in (1, 2, 3):
        ingot.set_num_threads(threads)
        sky = np.full((1, 3, 3), 0.5)
        judged.build_noise_weighted(local, sky, index, pixels, index, weights, index, data, index, NO_DET_FLAGS, np.ones(n_det), 0,
                                     records([[0, n], [0, n]]), NO_FLAGS, 0)  # fmt: skip
        results.append(sky)
    ingot.set_num_threads(2)
    wanted = np.full((3, 3), 0.5)
    np.add.at(wanted, np.maximum(pixels, 0), 2 * np.where(pixels >= 0, data, 0.0)[..., None] * weights)
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
    assert np.allclose(results[0][0], wanted, rtol=1e-12)


def test_rows_named_twice_are_written_in_order() -> None:
    """Not asked for, but the decorator changes nothing: a table that names a row twice has what Python has."""
    n = 60_000
    rng = np.random.default_rng(5)
    boresight, focalplane = rng.random((n, 4)), rng.random((3, 4))
    held = []
    for index in (table(1, 0, 1), table(0, 2, 1)):
        quats = np.zeros((3, n, 4))
        judged.pointing_detector(focalplane, boresight, index, quats, records([[0, n]]), NO_FLAGS, 0)
        held.append(quats)
    assert held[0][1].tobytes() == held[1][1].tobytes() and not held[0][2].any()


@pytest.mark.parametrize("name", NAMES)
def test_other_sizes_compile_nothing_anew(name: str) -> None:
    function = getattr(judged, name)
    case = FIRST[name]
    called(function, case)
    before = len(kernel_of(name).specialisations)
    called(function, case, small(case))
    if name in WITH_INTERVALS:
        called(function, case, interval_calls(name, [[3, 700], [5, 9]]))
    assert len(kernel_of(name).specialisations) == before


@pytest.mark.parametrize("dtype", [np.float16, np.int16, np.bool_])
def test_a_map_of_other_types_gives_what_python_gives(dtype: type) -> None:
    case = next(c for c in CASES if c.kernel == "scan_map" and c.name == "float64_add")
    sky = place("scan_map", "mapdata")
    calls = [tuple(argument.astype(dtype) if at == sky else argument for at, argument in enumerate(call)) for call in small(case)]
    held, wanted = (called(function, case, calls)[3] for function in (judged.scan_map, undecorated("scan_map")))
    assert held.dtype == wanted.dtype == np.float64
    np.testing.assert_array_equal(held, wanted)
    assert (wanted != case.calls[0][3]).any()
