"""Ingot compiles numerical Python to native code and changes nothing but the speed."""

__version__ = "0.1.0"
