"""The interpreter at the other end of a pipe: `run(text, *arguments)` calls @f of a module in text form."""

import atexit
import ctypes
import functools
import subprocess

import numpy as np
from programs import find_program

DTYPES = {
    "bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32,
    "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "f16": np.float16, "f32": np.float32,
    "f64": np.float64, "c64": np.complex64, "c128": np.complex128,
}  # fmt: skip
KEYS = {np.dtype(dtype): key for key, dtype in DTYPES.items()}


class View:
    """An array that goes as a view of its memory, and is written back."""

    def __init__(self, array):
        self.array = array
        self.low, self.high = np.lib.array_utils.byte_bounds(array) if array.size else (array.ctypes.data,) * 2


class Fault(Exception):
    """An InternalError of the interpreter."""


class Raised(Exception):
    """An exception that left the function: its kind, its message."""


@functools.cache
def process():
    running = subprocess.Popen([find_program("ir_cli")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(running.kill)
    return running


def encode(argument):
    if isinstance(argument, View):
        array = argument.array
        numbers = [array.ndim, argument.high - argument.low, array.ctypes.data - argument.low, *array.shape]
        words = " ".join(map(str, [*numbers, *array.strides]))
        memory = ctypes.string_at(argument.low, argument.high - argument.low)
        return f"view {KEYS[array.dtype]} {words}\n".encode() + memory
    if isinstance(argument, np.ndarray):
        words = " ".join(map(str, [argument.ndim, *argument.shape]))
        return f"array {KEYS[argument.dtype]} {words}\n".encode() + argument.tobytes()
    scalar = np.asarray(argument)
    return f"scalar {KEYS[scalar.dtype]}\n".encode() + scalar.tobytes()


def run(text, *arguments, seed=0):
    """The results, as arrays; views are written back. Raises Fault or Raised."""
    pipe = process()
    source = text.encode()
    request = f"run {len(source)} {len(arguments)} {seed}\n".encode() + source + b"".join(map(encode, arguments))
    pipe.stdin.write(request)
    pipe.stdin.flush()
    word, _, rest = pipe.stdout.readline().decode().rstrip("\n").partition(" ")
    if word == "raised":
        raise Raised(*rest.split(" ", 1))
    if word != "done":
        raise Fault(rest or "ir_cli has stopped")
    results = []
    for _ in range(int(rest)):
        _, key, _, *shape = pipe.stdout.readline().decode().split()
        shape = tuple(map(int, shape))
        dtype = np.dtype(DTYPES[key])
        data = pipe.stdout.read(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)
        results.append(np.frombuffer(data, dtype).reshape(shape))
    for argument in arguments:
        if isinstance(argument, View):
            memory = pipe.stdout.read(argument.high - argument.low)
            if argument.array.flags.writeable:
                ctypes.memmove(argument.low, memory, len(memory))
    return results
