"""What the examples print of the time that compiled functions take."""

import time


def show_times(arguments, **functions):
    """The first call of each function, which compiles it, and the fastest of three others."""
    for name, function in functions.items():
        seconds = []
        for _ in range(4):
            start = time.perf_counter()
            function(*arguments)
            seconds.append(time.perf_counter() - start)
        print(f"{name.replace('_', ' ')}: first call {seconds[0]:.2f} s, then {1e3 * min(seconds[1:]):.2f} ms")
