"""Keeps programs that Python itself would not end soon from being run: endless loops, endless integers."""

import ast

import numpy as np

BITS = 4096
STEPS = 20_000
MODULE = "program"
"""The name of the module that a program is: its classes are not Python's."""


class Endless(Exception):
    """The program was stopped: it ran too long, or its integers grew too large."""


class Limits:
    """Whether a Python int has left 64 bits or the sign of a NaN was asked for, and how far a run is from its limits."""

    def __init__(self, most: float = STEPS) -> None:
        self.most = most
        self.reset()

    def reset(self) -> None:
        self.seen = False
        self.nan_sign = False
        self.steps = 0

    def watch(self, value):
        self.steps += 1
        if self.steps > self.most:
            raise Endless("too many operations")
        if type(value) is int and not -(2**63) <= value < 2**63:
            self.seen = True
            if value.bit_length() > BITS:
                raise Endless("too large an integer")
        return value

    def sign(self, value):
        """Watches an operand whose sign is asked for."""
        self.nan_sign = self.nan_sign or bool(np.any(np.isnan(value)))
        return value

    def exact(self, value):
        """Watches an operand of a true division, which Ingot has of ints below 2**53."""
        if type(value) is int and abs(value) > 2**53:
            self.seen = True
        return value


def power(a, b):
    if isinstance(a, int) and isinstance(b, int) and a.bit_length() * b > BITS and abs(a) > 1:
        raise Endless("too large a power")
    return a**b


def left_shift(a, b):
    if isinstance(a, int) and isinstance(b, int) and a and b > BITS:
        raise Endless("too large a shift")
    return a << b


class _Limited(ast.NodeTransformer):
    """Lets powers, shifts and loops of a program be watched."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        name = {ast.Pow: "_power", ast.LShift: "_left_shift"}.get(type(node.op))
        return ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], []) if name else node

    def visit_While(self, node):
        self.generic_visit(node)
        node.test = ast.BoolOp(ast.And(), [ast.Call(ast.Name("_tick", ast.Load()), [ast.Constant(True)], []), node.test])
        return node


def limited(source: str, mode: str, space: dict):
    """The code of a source text, which raises Endless where it would not end; `space` gets what that needs."""
    limits = Limits()
    space |= {"_power": power, "_left_shift": left_shift, "_tick": limits.watch}
    return compile(ast.fix_missing_locations(_Limited().visit(ast.parse(source, mode=mode))), "<limited>", mode)
