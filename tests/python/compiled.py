"""Machine code of a text: `run(text, *arguments)` calls @f as `interpreter.run` does, compiled by `ingot-opt --run`."""

import ctypes
import re
import subprocess

import numpy as np
from interpreter import DTYPES, KEYS, Fault, Raised, View
from programs import find_program


def record(arguments):
    """The text of a call, and the views in the order of their memories."""
    memories, lines, views = [], [], []
    for argument in arguments:
        if isinstance(argument, View):
            array, low = argument.array, argument.low
            memory = ctypes.string_at(low, argument.high - low)
            digits = memory.hex(" ", 8)
            memories.append(f"memory {len(views)} bytes {len(memory)} at 0\n  {digits}")
            lengths, strides = (", ".join(map(str, numbers)) for numbers in (array.shape, array.strides))
            offset = array.ctypes.data - low
            lines.append(f"argument view {KEYS[array.dtype]} in {len(views)} at {offset} lengths ({lengths}) strides ({strides})")
            views.append(argument)
        else:
            scalar = np.asarray(argument)
            lines.append(f"argument {KEYS[scalar.dtype]} {scalar.tobytes().hex()}")
    return "\n".join(["record 1", "function @f", *memories, *lines]), views


def run(text, *arguments, seed=0, folder):
    """The results, as arrays; views are written back. Raises Fault or Raised. The seed orders nothing here."""
    call, views = record(arguments)
    (folder / "call.txt").write_text(call)
    (folder / "f.ir").write_text(text)
    words = [find_program("ingot-opt"), "--run", "--call", folder / "call.txt", folder / "f.ir"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise Fault(done.stderr)
    if raised := re.search(r'^raised (\w+) "(.*)"', done.stdout, re.MULTILINE):
        raise Raised(*raised.groups())
    for number, data in re.findall(r"^after (\d+) bytes \d+((?:\n  [0-9a-f]+)*)$", done.stdout, re.MULTILINE):
        data = bytes.fromhex(data)
        ctypes.memmove(views[int(number)].low, data, len(data))
    results = re.findall(r"^result (\w+)\n  ([0-9a-f]+) ", done.stdout, re.MULTILINE)
    return [np.frombuffer(bytes.fromhex(data), DTYPES[key])[0] for key, data in results]
