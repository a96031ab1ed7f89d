"""What bounds the forms under Ingot that a peer is faster at, as far as assembly, profiles and the IR show it: the page of benchmarks shows it."""

_IN_ORDER = 'latency: the loop\'s sum in its written order waits four cycles for each addition; `fastmath="reassoc"` has lanes'
_TWO_POLYNOMIALS = (
    "instructions: `sin` is right to 0.77 units in the last place, with both polynomials for each lane and an angle in two words; libmvec allows 4"
)
_FUNCTIONS = "instructions: `exp`, `log` and `erf` to less than one unit in the last place; libmvec allows 4"
_BLOCKS = "loads: eight rows at once share what they load; BLAS keeps blocks of both matrices in the inner caches"
_DIVIDER = "divider and memory: one root and one division an element, three inputs, and a new array of 40 MB whose pages are made by the call"
_COUNTING = "instructions: the check of each index, the wrap-around of negative ones, and an increment that is not unrolled, where C++ has none of them"
_TRANSPOSED = "cache misses: elements of the transposed operand are read down columns, in tiles of 8 rows"

BOUNDS: dict[tuple[str, str], str] = {
    ("add_transposed", "array"): _TRANSPOSED,
    ("add_transposed", "loop"): _TRANSPOSED,
    ("black_scholes", "array"): _FUNCTIONS,
    ("black_scholes", "loop"): _FUNCTIONS,
    ("compress", "array"): "memory: the mask is computed twice, as the result's length is counted first",
    ("convolution_by_slices", "array"): "loads: the result is loaded and stored once for each row of five taps; C++ and JAX keep one sum in a register",
    ("equalise_histogram", "array"): "instructions: bytes are counted, and looked up in a table, one by one; addresses of the latter are taken out of vectors",
    ("heat_equation", "array"): "memory: loads of neighbours wait for it; an array is 8 MB",
    ("histogram", "loop"): _COUNTING,
    ("irregular_intervals", "loop"): "memory: the sum waits for the loads of a stream of 160 MB",
    ("k_means_step", "array"): "memory: distances are stored before `argmin` along eight elements, which runs one by one for NaN; eight passes of sums",
    ("kuramoto_all_to_all", "array"): _TWO_POLYNOMIALS,
    ("kuramoto_all_to_all", "loop"): _TWO_POLYNOMIALS,
    ("kuramoto_network", "original"): _TWO_POLYNOMIALS,
    ("kuramoto_network", "refactored"): _TWO_POLYNOMIALS,
    ("lu_by_slices", "array"): "memory: the bandwidth of the second-level cache",
    ("matmul_loops_float32", "loop"): _BLOCKS,
    ("matmul_naive", "loop"): _BLOCKS,
    ("monte_carlo_pi", "array"): "instructions: AVX2 converts no 64-bit integers to doubles, so those of random numbers are converted one by one",
    ("nbody", "array"): "memory: a row of pulls is stored, and read again for each of three sums; the loops' form keeps them in registers",
    ("prefix_sum", "loop"): "latency: each sum waits four cycles for the one before",
    ("quadratic", "array"): _DIVIDER,
    ("quadratic", "loop"): _DIVIDER,
    ("reduce_elements", "loop"): _IN_ORDER,
    ("rows_times_vector", "loop"): "memory: rows are read one after the other, as their 32 partial sums fill the registers; BLAS and sums in another order read several at once",
    ("sine", "array"): _TWO_POLYNOMIALS,
    ("sine", "loop"): _TWO_POLYNOMIALS,
    ("softmax", "loop"): "latency: the largest element of a row, one comparison after the other; several rows are not done at once",
    ("sum2d", "loop"): _IN_ORDER,
    (
        "sum_greater_than_three",
        "array",
    ): "memory: what is selected is stored and read again, as NumPy's order of sums is that of the selected elements; C++ needs one pass",
    ("transposed_product", "array"): _BLOCKS,
    ("transposed_product", "loop"): _BLOCKS,
}
"""By workload and form."""
