"""The ASTs of the library that the build keeps: those of the sources, and refused where these have changed."""

import ast
import importlib
import marshal
import types
from pathlib import Path

import pytest

from ingot._code import source as _source, trees

LIBRARY = Path(trees.LIBRARY)
MODULES = sorted(
    ".".join(file.relative_to(LIBRARY).with_suffix("").parts) for file in LIBRARY.rglob("*.py") if file.name not in ("__init__.py", "_index.py")
)


def functions_of(module: str) -> list[types.FunctionType]:
    found = vars(importlib.import_module(f"ingot.library.{module}")).values()
    return [each for each in found if isinstance(each, types.FunctionType) and trees.LIBRARY in each.__code__.co_filename]


def parsed(function: types.FunctionType) -> ast.AST:
    node = _source._found(function, function.__code__.co_filename, _source.text_of(function))
    assert node is not None
    return node


@pytest.mark.sampled(5)
@pytest.mark.parametrize("module", MODULES)
def test_all_functions_are_kept_as_they_are_parsed(module):
    for function in functions_of(module):
        kept = trees.find(function)
        assert kept is not None, function
        assert ast.dump(kept, include_attributes=True) == ast.dump(parsed(function), include_attributes=True)


def changed(tmp_path, monkeypatch, edit):
    """A function of a library whose source has been changed since its ASTs were kept."""
    kept = tmp_path / "_trees"
    kept.mkdir()
    (kept / "lists.bin").write_bytes(Path(trees.KEPT, "lists.bin").read_bytes())
    source = tmp_path / "lists.py"
    source.write_text(edit((LIBRARY / "lists.py").read_text()))
    monkeypatch.setattr(trees, "LIBRARY", f"{tmp_path}/")
    monkeypatch.setattr(trees, "KEPT", str(kept))
    trees._kept.cache_clear()
    space = {"__name__": "ingot.library.lists", "__package__": "ingot.library", "__file__": str(source)}
    exec(compile(source.read_text(), str(source), "exec", dont_inherit=True), space)
    return next(f for f in space.values() if isinstance(f, types.FunctionType) and f.__code__.co_filename == str(source))


@pytest.fixture(autouse=True)
def fresh():
    yield
    trees._kept.cache_clear()


def test_the_same_source_elsewhere_is_the_same(tmp_path, monkeypatch):
    assert trees.find(changed(tmp_path, monkeypatch, lambda text: text)) is not None


@pytest.mark.parametrize("edit", [lambda text: "\n" + text, lambda text: text.replace("    return ", "    return None or ")])
def test_a_changed_source_is_parsed(tmp_path, monkeypatch, edit):
    function = changed(tmp_path, monkeypatch, edit)
    assert trees.find(function) is None
    node, file, line = _source.find(function)
    assert (file, line) == (f"{tmp_path}/lists.py", function.__code__.co_firstlineno)
    assert ast.dump(node) == ast.dump(parsed(function))


@pytest.mark.parametrize("damage", [lambda kept: kept[:-20], lambda kept: b"", lambda kept: marshal.dumps(((0, (3, 11)), *marshal.loads(kept)[1:]))])
def test_what_was_kept_otherwise_is_not_used(tmp_path, monkeypatch, damage):
    function = changed(tmp_path, monkeypatch, lambda text: text)
    file = tmp_path / "_trees" / "lists.bin"
    file.write_bytes(damage(file.read_bytes()))
    assert trees.find(function) is None
    assert _source.find(function)[0] is not None


def test_functions_of_users_are_not_looked_for():
    assert trees.find(parsed) is None
