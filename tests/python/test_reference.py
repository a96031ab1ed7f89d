"""The reference: every public name has a docstring in NumPy's format, whose examples run, and is on a page of the manual."""

import doctest
import enum
import importlib
import inspect
import pickle
import pickletools
import re
import subprocess
import sys
import types
from pathlib import Path

import ingot
import numpy as np
import pytest

MODULES = (
    "ingot ingot.cuda ingot.cuda.atomic ingot.cuda.blas ingot.cuda.cg ingot.cuda.const ingot.cuda.coop ingot.cuda.coop.block ingot.cuda.coop.warp "
    "ingot.cuda.fft ingot.cuda.local ingot.cuda.rand ingot.cuda.random ingot.cuda.shared ingot.cuda.solver ingot.cuda.sparse ingot.einshape ingot.lax "
    "ingot.mpi ingot.optimize ingot.parallel ingot.random ingot.testing ingot.tree ingot.types"
).split()
RESULTS = """
    ingot._reports.explanation.Explanation ingot._calls.function.Function ingot._vectorize.guvectorize.GUFunction ingot._profile.functions.Region
    ingot._profile.rows.Row ingot._vectorize.Vectorized
""".split()
"""Classes of what public functions return, which have no public name."""
PAGES = Path(__file__).resolve().parents[2] / "docs" / "reference" / "api"
SECTIONS = ["Parameters", "Attributes", "Returns", "Yields", "Raises", "See Also", "Notes", "Examples"]
WITH_EXAMPLES = ("ingot", "ingot.einshape", "ingot.lax", "ingot.mpi", "ingot.optimize", "ingot.parallel", "ingot.random", "ingot.testing", "ingot.tree")
"""Modules of which each function has an example."""
WITHOUT_EXAMPLES = {"ingot.DeviceError", "ingot.InternalError", "ingot.TypeChangeError", "ingot.Graph"}


def names_of(module: str) -> list[str]:
    return [name for name in importlib.import_module(module).__all__ if not name.startswith("_")]


def public() -> dict[str, object]:
    """Functions and classes by name; each once, by its first name."""
    found: dict[str, object] = {}
    for module in MODULES:
        for name in names_of(module):
            value = getattr(importlib.import_module(module), name)
            if (callable(value) or value is ingot.profile) and not isinstance(value, (types.ModuleType, type(ingot.float64))):
                if not any(value is known for known in found.values()):
                    found[f"{module}.{name}"] = value
    for path in RESULTS:
        module, _, name = path.rpartition(".")
        found[path] = getattr(importlib.import_module(module), name)
    return found


def members_of(kind: type) -> dict[str, object]:
    """The methods and properties of a class."""
    members = {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}
    kept = {}
    for name, member in members.items():
        if inspect.isfunction(member) or isinstance(member, (property, classmethod, staticmethod)):
            if not issubclass(kind, (tuple, str, BaseException)) or name in vars(kind):
                kept[name] = member
    return kept


PUBLIC = public()
MEMBERS = {f"{path}.{name}": member for path, kind in PUBLIC.items() if isinstance(kind, type) for name, member in members_of(kind).items()}
MEMBERS |= {f"ingot.profile.{name}": member for name, member in members_of(type(ingot.profile)).items()}


def sections_of(doc: str) -> dict[str, str]:
    """The text of each section, by its title; that before the first one by the title ""."""
    parts = re.split(r"^(\S[^\n]*)\n-{3,}$", doc, flags=re.M)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2]))}


def parameters_in(text: str) -> list[str]:
    heads = re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: :|$)", text, flags=re.M)
    return [name.strip("* ") for head in heads for name in head.split(",")]


def check(path: str, value: object, needs_parameters: bool) -> None:
    doc = inspect.getdoc(value)
    assert doc, path
    summary, *rest = doc.split("\n")
    assert summary.endswith((".", ":")) or summary.rstrip("`").endswith("."), f"{path}: {summary}"
    assert len(summary) <= 130 and (not rest or not rest[0]), f"{path}: a summary is one line"
    sections = sections_of(doc)
    titles = [title for title in sections if title]
    assert titles == sorted(titles, key=SECTIONS.index), f"{path}: the order of {titles}"
    for title, text in sections.items():
        assert text.strip(), f"{path}: {title} is empty"
    assert max(map(len, doc.split("\n"))) <= 140, f"{path}: a line is too long for a terminal"
    if not needs_parameters:
        return
    signature = inspect.signature(value)
    names = [name for name in signature.parameters if name != "self"]
    assert sorted(name.strip("*") for name in parameters_in(sections.get("Parameters", ""))) == sorted(names), path
    gives = str(signature.return_annotation).strip("'\"")
    if not isinstance(value, type) and gives not in ("None", "<class 'inspect._empty'>"):
        assert "Returns" in sections or "Yields" in sections, path


def without_signature(path: str) -> bool:
    return isinstance(PUBLIC[path], type) and issubclass(PUBLIC[path], (BaseException, enum.Enum, ingot.Array)) or path in ("ingot.profile", "ingot._reports.explanation.Explanation", "ingot._profile.functions.Region")


def faults_of(names: dict[str, object], needs_parameters) -> list[str]:
    found = []
    for path, value in names.items():
        try:
            check(path, value, needs_parameters(path))
        except AssertionError as error:
            found.append(f"{path}: {error}")
    return found


def test_docstrings_of_names():
    assert faults_of(PUBLIC, lambda path: not without_signature(path)) == []


def test_docstrings_of_methods_and_properties():
    def has_parameters(path: str) -> bool:
        member = MEMBERS[path]
        is_numpys = re.search("[Aa]s `(?:numpy|np)\\.", inspect.getdoc(member) or "")
        return inspect.isfunction(member) and not is_numpys and len(inspect.signature(member).parameters) > 1

    assert faults_of(MEMBERS, has_parameters) == []


def test_every_function_has_an_example():
    for path, value in PUBLIC.items():
        module = path.rpartition(".")[0]
        if module in WITH_EXAMPLES and path not in WITHOUT_EXAMPLES and not isinstance(value, types.ModuleType):
            assert ">>> " in inspect.getdoc(value), path


def test_summaries_of_properties_have_no_colons():
    """Sphinx takes what is before a colon for the type of a property."""
    assert [path for path, member in MEMBERS.items() if isinstance(member, property) and ": " in inspect.getdoc(member).split("\n")[0]] == []


def documented() -> set[str]:
    """The names that pages of the reference have: those of directives, and those in tables."""
    found = set()
    for page in PAGES.glob("*.md"):
        module = ""
        for line in page.read_text().split("\n"):
            if named := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = named[1]
            if given := re.match(r"\.\. (?:auto\w+|py:function):: (\S+)", line):
                if not line.startswith(".. autosummary"):
                    found.add(given[1] if given[1].startswith("ingot.") else f"{module}.{given[1]}")
            elif line.startswith("| `"):
                found |= {f"table.{name}" for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    return found


def test_every_public_name_is_on_a_page():
    pages = documented()
    for path, value in PUBLIC.items():
        is_method = inspect.ismethod(value) and path.startswith("ingot.cuda.blas.")  # shown as methods of `Blas`
        where = "ingot._profile.Profile" if path == "ingot.profile" else path
        assert where in pages or is_method, path
    for module in ("ingot", "ingot.cuda", "ingot.types"):
        for name in names_of(module):
            value = getattr(importlib.import_module(module), name)
            is_shown = any(f"{each}.{name}" in pages for each in MODULES) or f"table.{name}" in pages
            assert is_shown or isinstance(value, types.ModuleType) or name in ("gpus", "profile"), f"{module}.{name}"
    assert "`gpus` are" in (PAGES / "kernels.md").read_text()


def test_pages_name_what_there_is():
    """What has been renamed or removed has left the pages."""
    for path in documented():
        if not path.startswith("table."):
            module, _, name = path.rpartition(".")
            assert hasattr(importlib.import_module(module), name), path


def public_classes() -> dict[str, type]:
    """The classes that public modules have, and that of the types of signatures, by the names that they have for themselves."""
    found = [ingot.types.Type]
    for module in map(importlib.import_module, (*MODULES, "ingot.numpy", "ingot.numpy.fft", "ingot.numpy.linalg")):
        found += [value for value in (getattr(module, name) for name in dir(module) if not name.startswith("_")) if isinstance(value, type)]
    return {f"{kind.__module__}.{kind.__qualname__}": kind for kind in found if kind.__module__.split(".")[0] == "ingot"}


def test_classes_have_public_names():
    """Those that tracebacks, reprs and pickles name."""
    names = public_classes()
    assert {"ingot.Array", "ingot.UnsupportedError", "ingot.cuda.Dim3", "ingot.numpy.finfo", "ingot.tree.Structure", "ingot.types.Tuple"} <= names.keys()
    for path, kind in names.items():
        module, _, name = path.rpartition(".")
        assert module in (*MODULES, "ingot.numpy"), path
        assert getattr(importlib.import_module(module), name) is kind, path


def test_a_class_is_defined_before_its_public_module_is_loaded():
    text = "import sys; from ingot.library.structures import Structure; print(Structure.__module__, 'ingot.tree' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout == "ingot.tree False\n"


def named_by(pickled: bytes) -> set[str]:
    """The modules of Ingot's that a pickle imports from."""
    texts = [argument for op, argument, _ in pickletools.genops(pickled) if op.name in ("GLOBAL", "SHORT_BINUNICODE", "BINUNICODE")]
    return {text.split(" ")[0] for text in texts if re.match(r"ingot\b", text)}


LOADS = """
import pickle, sys
for one in pickle.load(sys.stdin.buffer):
    value = pickle.loads(one)
    print(f"{value.__module__}.{value.__qualname__}" if isinstance(value, type) else f"{type(value).__module__} {value!r}")
"""


@pytest.mark.parametrize("protocol", (2, pickle.HIGHEST_PROTOCOL))
def test_pickles_name_public_modules(protocol):
    """And another process, which has imported nothing of Ingot's, reads them."""
    values = [
        *public_classes().values(),
        ingot.UnsupportedError("no"), ingot.InternalError("no"), ingot.DeviceError("no"), ingot.cuda.LibraryError("no", "STATUS"),
        ingot.device("cpu"), ingot.device_put(np.arange(3.0), "emulated"), ingot.float64[:, ::1], ingot.types.Tuple((ingot.int8, ingot.types.Optional(ingot.bool_))),
        ingot.tree.structure({"a": [1, None]}), ingot.cuda.Dim3(1, 2, 3), ingot.cuda.Index3(1, 2, 3), ingot.cuda.PTXSource("", "name"),
    ]  # fmt: skip
    pickled = [pickle.dumps(value, protocol) for value in values]
    for value, one in zip(values, pickled):
        assert named_by(one) and named_by(one) <= {*MODULES, "ingot.numpy"}, (value, named_by(one))
    done = subprocess.run([sys.executable, "-c", LOADS], input=pickle.dumps(pickled), capture_output=True, check=True)
    shown = [f"{v.__module__}.{v.__qualname__}" if isinstance(v, type) else f"{type(v).__module__} {v!r}" for v in values]
    assert done.stdout.decode().splitlines() == shown


def see_also() -> list[tuple[str, str]]:
    found = []
    for path, value in PUBLIC.items():
        text = sections_of(inspect.getdoc(value) or "").get("See Also", "")
        for line in text.strip().split("\n"):
            found += [(path, name.strip()) for name in line.partition(" : ")[0].split(",") if name.strip()]
    return found


def test_names_in_see_also_exist():
    for path, name in see_also():
        module = path.rpartition(".")[0]
        if name.startswith("numpy."):
            assert hasattr(np, name.partition(".")[2]), (path, name)
            continue
        full = name if name.startswith("ingot.") else f"{module}.{name}"
        found: object = ingot
        for part in full.split(".")[1:]:
            assert hasattr(found, part) or importlib.import_module(f"ingot.{part}"), (path, name)
            found = getattr(found, part)


def examples() -> list:
    cases = []
    for path, value in {"ingot": ingot, **PUBLIC, **MEMBERS}.items():
        doc = inspect.getdoc(value) or ""
        if ">>> " in doc:
            share = 5 if path.startswith(("ingot.random.", "ingot.cuda")) else 2
            cases.append(pytest.param(path, doc, id=path, marks=pytest.mark.sampled(share)))
    return cases


@pytest.mark.parametrize(("path", "doc"), examples())
def test_examples(path, doc):
    test = doctest.DocTestParser().get_doctest(doc, {"np": np, "ingot": ingot, "__name__": "__main__"}, path, None, 0)
    said: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    failed, tried = doctest.DocTestRunner(optionflags=flags).run(test, out=said.append)
    assert tried and not failed, "".join(said)
