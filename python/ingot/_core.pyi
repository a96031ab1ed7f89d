"""The extension that compiles, as type checkers see it: anything."""

from typing import Any

def __getattr__(name: str) -> Any: ...
