"""For builds without the software device (INGOT_SOFTGPU=OFF): which tests need it. conftest.py leaves these out there.

A file needs it that asks for it when it is imported; a test, whose own source, or that of a fixture, function or program of
its file that it names, has the device's name in it.
"""

import ast
import importlib.util
import inspect
import re
from pathlib import Path

NAME = re.compile(r"emulated|INGOT_EMULATOR|softgpu|software_device")


def is_missing() -> bool:
    """Whether the package that is tested has no software device next to it."""
    spec = importlib.util.find_spec("ingot")
    folders = Path(spec.origin).parents if spec and spec.origin else ()
    return not any((folder / "softgpu" / "libcuda.so.1").exists() for folder in folders[:4])


def needs_file(path: Path) -> bool:
    at_import = [each for each in ast.parse(path.read_text()).body if not isinstance(each, (ast.FunctionDef, ast.ClassDef))]
    calls = [ast.unparse(node) for each in at_import for node in ast.walk(each) if isinstance(node, ast.Call)]
    imported = [path.parent / f"{each.module}.py" for each in at_import if isinstance(each, ast.ImportFrom) and (each.module or "").startswith("test_")]
    return any(re.match(r"ingot\.devices?\('emulated'", call) for call in calls) or any(map(needs_file, imported))


def needs_test(item) -> bool:
    texts = [item.name, *map(repr, getattr(getattr(item, "callspec", None), "params", {}).values())]
    functions = [item.function, *(each.func for known in item._fixtureinfo.name2fixturedefs.values() for each in known)]
    own = [function for function in functions if function.__module__ == item.module.__name__]
    for function in (item.function, *own):
        texts += [_source(function), *(_source(vars(item.module).get(name)) for name in function.__code__.co_names)]
    return any(NAME.search(text) for text in texts)


def _source(of: object) -> str:
    if isinstance(of, str):
        return of
    return inspect.getsource(of) if inspect.isfunction(of) else ""
