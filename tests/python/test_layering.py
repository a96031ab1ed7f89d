"""The components and the parts of the Python package: which may include or import which, and what no file may contain.

The dependences of components are in two files that must agree: PLAN below, and the DEPENDS of each src/<component>/CMakeLists.txt.
Each rule is a function from a tree to its violations, tried on this repository and on a planted violation.
"""

import ast
import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]

PLAN = {
    "base": set(),
    "ir": {"base"},
    "explain": {"ir"},
    "transform": {"ir"},
    "codegen": {"ir"},
    "devices": {"base"},
    "runtime": {"base", "devices"},
    "standalone": {"runtime"},
    "interop": {"runtime"},
    "eager": {"interop"},
    "frontend": {"ir"},
    "driver": {"transform", "codegen", "runtime"},
    "profile": {"devices"},
    "bindings": {"driver", "eager", "explain", "frontend", "profile"},
    "tools": {"driver"},
    "ingot": {"driver"},  # include/ingot, the public API
    "softgpu": set(),  # a project of its own, in the folder of its name
}
# The folders of components that have an order within, and which others each may include. Files next to the folders may include all,
# but for those of a component in which they have a row of their own, "".
FOLDERS = {
    "transform": {
        "writers": set(),
        "analyses": {"writers"},
        "functions": {"analyses"},
        "loops": {"functions"},
        "kernels": {"functions"},
        "arrays": {"functions", "kernels"},
        "derivatives": {"arrays"},
    },
    "frontend": {
        "": set(),
        "tracer": {""},
        "arrays": {"tracer"},
        "joins": {"arrays"},
        "kernels": {"joins"},
        "calls": {"kernels"},
        "expressions": {"calls"},
        "loops": {"expressions"},
        "statements": {"loops"},
        "routines": {"statements"},
        "lowering": {"routines"},
        "kinds": {"lowering"},
    },
}
# The folder of a component that all others may include, besides: a kind of value answers by the table of slots to all of them,
# and implements its slots by what they have.
ASKED = {"frontend": "kinds"}
# The public headers are implemented in, and used by, these.
PUBLIC_HEADERS_IN = {"runtime", "driver", "bindings", "tools"}

# What only some components may include.
CONFINED = {
    "LLVM": (re.compile(r"llvm(-c)?/"), {"codegen"}),
    "Python": (re.compile(r"Python\.h$|nanobind/|numpy/"), {"interop", "eager", "frontend", "profile", "bindings"}),
    "passes": (re.compile(r"transform/"), {"transform", "driver", "tools"}),
    "code generation": (re.compile(r"codegen/"), {"codegen", "driver"}),
    "threads": (
        re.compile(r"(thread|mutex|shared_mutex|condition_variable|future|semaphore|pthread\.h)$"),
        {"codegen", "devices", "runtime", "standalone", "eager", "frontend", "profile", "driver", "bindings", "tools", "ingot", "softgpu"},
    ),
}

# What only some folders may include: what one CPU or GPU has.
OF_ONE_TARGET = {
    "instructions of one CPU": (re.compile(r"llvm/IR/Intrinsics\w+\.h$"), {"src/codegen/targets"}),
    "a target": (
        re.compile(r"codegen/targets/(?!target\.h|target_machine\.h|instructions\.h|kernel_target\.h)"),
        {"src/codegen/targets", "src/driver"},
    ),
}
# What is asked of a target by name, or by its generation.
TARGET_NAMES = re.compile(r"\b(x86|avx|sse\d|nvptx|cuda)\b|target\.(level|cpu|features|needs)\b", re.IGNORECASE)
# The name of a vendor's driver, in what speaks its ABI, makes code for it, or reads programs that name it; others ask
# devices/device.h.
VENDOR_NAMES = re.compile(r"cuda|opencl", re.IGNORECASE)
VENDOR_NAMES_IN = {"src/devices", "src/driver", "src/codegen/targets", "src/frontend", "softgpu"}

# The parts of python/ingot - its sub-packages, and modules next to them -, and which others each may import. `library.own` is
# what stands for Ingot's own functions in compiled code; the core finds it by name. All may import the extension `_ingot`;
# the package itself is a table of names, and imports nothing but when it is asked for one.
PYTHON_PLAN: dict[str, set[str]] = {
    "_environment": set(),
    "_errors": set(),
    "_refusals": set(),
    "_profile": set(),
    "_devices": set(),
    "_routines": {"_errors"},
    "_code": {"_errors"},
    "_signatures": {"_errors"},
    "_host": {"_code", "_signatures"},
    "library": {"_host", "_routines"},
    "_objects": {"library", "_refusals", "_routines"},
    "_cache": {"_devices", "_host", "_objects", "_environment"},
    "_reports": {"_code", "_signatures"},
    "_calls": {"_cache", "_devices", "_profile", "_reports", "_routines"},
    "_operations": {"_calls"},
    "numpy": {"_operations", "library"},
    "_arrays": {"_operations", "numpy"},
    "tree": {"library"},
    "_transforms": {"_calls", "tree"},
    "cuda": {"_arrays"},
    "_vectorize": {"cuda"},
    "library.own": {"_transforms", "_vectorize"},
    "types": {"_signatures"},
    "_mpi": {"_errors"},
    "mpi": {"_routines"},
    "random": {"_operations"},
    "parallel": {"_operations"},
    "lax": {"_transforms"},
    "einshape": {"library"},
    "optimize": {"_operations"},
    "testing": {"_transforms"},
    "_ahead": {"_calls"},
    "tour": {"_calls", "lax", "random"},
    "_command": {"_ahead", "tour"},
    "__main__": {"_command"},
}
# What each imports inside of functions, so that it is loaded when it is first needed: `import ingot` loads one module, a
# decorator 18, a first call 30 (tools/ceilings.toml). `ingot` is the package's own names.
LATE: dict[str, set[str]] = {
    "ingot": {"_command", "_refusals"},
    "_errors": {"_refusals"},
    "_signatures": {"_refusals"},
    "_objects": {"_refusals", "library"},
    "_code": {"_code", "_core"},
    "_profile": {"_profile"},
    "library": {"_routines", "library", "ingot"},
    "_cache": {"_cache", "_objects", "_routines"},
    "_devices": {"_devices"},
    "_reports": {"_reports"},
    "_calls": {"_cache", "_calls", "_code", "_core", "_host", "_objects", "_profile", "_reports", "_signatures", "ingot"},
    "_arrays": {"numpy"},
    "_transforms": {"library"},
    "cuda": {"library", "cuda", "_refusals"},
    "_vectorize": {"_vectorize", "library", "ingot"},
    "mpi": {"_mpi"},
    "random": {"_operations"},
    "optimize": {"_operations"},
    "parallel": {"_operations"},
    "tour": {"tour", "ingot"},
    "_command": {"_ahead", "_calls", "_command", "_core", "_profile", "_reports", "tour"},
}
# What only names for type checkers may come from, against the order.
TYPES: dict[str, set[str]] = {"mpi": {"_mpi"}, "_cache": {"_calls"}, "_reports": {"_calls", "_core"}, "_command": {"_core"}}
# The rules of derivatives are written in terms of the functions that they are the rules of.
MUTUAL = {frozenset({"ingot.library.linalg", "ingot.library.rules.linalg"})}
EXTENSIONS = {"_core", "_ingot"}
# What the core is loaded with: without it, calls that the cache knows run.
WITH_CORE = {"_calls", "_ahead"}

LONGEST_FILE = 1000
UNLIMITED = {"ops.def"}
CODE = {".h", ".cpp", ".c", ".def", ".py", ".pyi", ".cmake", ".ir", ".txt", ".sh", ""}

# Spelt in parts, so that this file does not contain them.
UNWANTED = {
    "a path of one machine": re.compile(r"(?<![\w.$}])/(wo" + "rk|ro" + "ot|ho" + r"me/\w+)/"),
    "a note of work left over": re.compile(r"\b(TO" + r"DO|FIX" + r"ME)\b"),
}


def closure(arrows: dict[str, set[str]], component: str) -> set[str]:
    """The components that can be reached from a component, itself included."""
    reached: set[str] = set()
    waiting = [component]
    while waiting:
        current = waiting.pop()
        if current not in reached:
            reached.add(current)
            waiting += arrows.get(current, set())
    return reached


def sources(root: Path) -> Iterator[tuple[str, Path]]:
    """Each C++ file of src/, include/ and softgpu/ with its component."""
    for folder in ("src", "include", "softgpu"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".c", ".def", ".inc"):
                yield "softgpu" if folder == "softgpu" else path.relative_to(root / folder).parts[0], path


def includes(path: Path) -> list[tuple[int, str]]:
    """Line and target of each #include."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if match:
            found.append((number, match[1]))
    return found


def declared_arrows(root: Path) -> dict[str, set[str]]:
    """The DEPENDS of every component that src/<component>/CMakeLists.txt declares."""
    arrows = {}
    for path in sorted(root.glob("src/*/CMakeLists.txt")):
        text = re.sub(r"#.*", "", path.read_text())
        match = re.search(r"ingot_component\(\s*(\w+)([^)]*)\)", text)
        if match:
            assert match[1] == path.parent.name, f"{path}: component {match[1]} in the folder of another"
            depends = re.search(r"\bDEPENDS\b((?:\s+(?!(?:SOURCES|PRECOMPILED)\b)\w+)*)", match[2])
            arrows[match[1]] = set(depends[1].split()) if depends else set()
    return arrows


def unplanned_arrows(root: Path) -> list[str]:
    """DEPENDS that the plan does not have, and components it does not know."""
    found = [f"src/{component}: not in the plan" for component in sorted({component for component, _ in sources(root)} - PLAN.keys())]
    for component, depends in declared_arrows(root).items():
        found += [f"{component} -> {other}" for other in sorted(depends - closure(PLAN, component))]
    return found


def wrong_includes(root: Path) -> list[str]:
    """#include lines against the dependences: those declared, or for what is no ingot_component() those of the plan."""
    declared = declared_arrows(root)
    arrows = {component: declared.get(component, depends) for component, depends in PLAN.items()}
    found = []
    for component, path in sources(root):
        allowed = closure(arrows, component) | ({"ingot"} if component in PUBLIC_HEADERS_IN else set())
        for number, target in includes(path):
            other = target.split("/")[0] if "/" in target else component
            if other in PLAN and other not in allowed:
                found.append(f"{path.relative_to(root)}:{number}: {target}")
    return found


def wrong_folders(root: Path) -> list[str]:
    """#include lines against the order of a component's folders, and folders that have no order."""
    found = []
    for component, path in sources(root):
        arrows = FOLDERS.get(component)
        parts = path.relative_to(root).parts[2:]
        folder = parts[0] if len(parts) > 1 else ""
        if arrows is None or (folder == "" and "" not in arrows):
            continue
        if folder not in arrows:
            found.append(f"{path.relative_to(root)}: no folder of the plan")
            continue
        allowed = closure(arrows, folder) | ({ASKED[component]} if component in ASKED and folder else set())
        for number, target in includes(path):
            other = target.split("/")
            if other[0] == component and (other[1] if len(other) > 2 else "") not in allowed:
                found.append(f"{path.relative_to(root)}:{number}: {target}")
    return found


def confined_includes(root: Path) -> list[str]:
    """#include lines of what only some components may include."""
    found = []
    for component, path in sources(root):
        for number, target in includes(path):
            for name, (pattern, components) in CONFINED.items():
                if pattern.match(target) and component not in components:
                    found.append(f"{path.relative_to(root)}:{number}: {name} in {component}")
    return found


def is_in(path: Path, places: set[str]) -> bool:
    """Whether a file is one of the paths, or in one of them."""
    return any(str(place) in places for place in (path, *path.parents))


def targets_outside(root: Path) -> list[str]:
    """Details of one target outside the files that may know them."""
    found = []
    for component, path in sources(root):
        name = path.relative_to(root)
        for number, target in includes(path):
            for what, (pattern, places) in OF_ONE_TARGET.items():
                if pattern.match(target) and not is_in(name, places):
                    found.append(f"{name}:{number}: {what}")
        tells_targets = component not in ("ir", "transform", "codegen") or is_in(name, {"src/codegen/targets"})
        tells_vendors = is_in(name, VENDOR_NAMES_IN)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("//")[0]
            if not tells_targets and TARGET_NAMES.search(code):
                found.append(f"{name}:{number}: a target's name")
            elif not tells_vendors and VENDOR_NAMES.search(code):
                found.append(f"{name}:{number}: a vendor's name")
    return found


class Import(NamedTuple):
    """An import of one module of python/ingot by another."""

    place: str
    module: str
    target: str
    when: str
    """"at once", "late": inside of a function, or "types": for type checkers alone."""


def python_modules(root: Path) -> dict[str, Path]:
    """Each module of python/ingot by its name."""
    found = {}
    for path in sorted((root / "python/ingot").rglob("*.py")):
        parts = path.relative_to(root / "python").with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported_names(node: ast.AST, module: str, is_package: bool) -> list[tuple[str, str]]:
    """The modules that an import is from, and the names that it takes of each."""
    if isinstance(node, ast.Import):
        return [(alias.name, "") for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    if node.level == 0:
        return [(node.module or "", alias.name) for alias in node.names]
    around = module.split(".")[: len(module.split(".")) - node.level + is_package]
    return [(".".join([*around, node.module] if node.module else around), alias.name) for alias in node.names]


@functools.cache
def python_imports(root: Path) -> list[Import]:
    """All imports of modules of the package by modules of the package."""
    modules, found = python_modules(root), []

    def visit(node: ast.AST, when: str) -> None:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
                continue  # no statement is in it
            inner = when
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) and when == "at once":
                inner = "late"
            elif isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
                inner = "types"
            for base, name in imported_names(child, module, path.name == "__init__.py"):
                whole = f"{base}.{name}" if name else base
                is_module = whole in modules or whole.removeprefix("ingot.") in EXTENSIONS
                target = whole if is_module else base
                if target.split(".")[0] == "ingot" and target != module:
                    found.append(Import(f"{path.relative_to(root)}:{child.lineno}", module, target, when))
            visit(child, inner)

    for module, path in modules.items():
        visit(ast.parse(path.read_text()), "at once")
    return found


def part_of(module: str) -> str:
    """The part of the package that a module is of."""
    parts = module.split(".")[1:3]
    return "library.own" if parts == ["library", "own"] else parts[0] if parts else "ingot"


def unplanned_parts(root: Path) -> list[str]:
    """Parts of the package that the plan does not know."""
    known = PYTHON_PLAN.keys() | {"ingot"}
    return [f"{path.relative_to(root)}: not in the plan" for module, path in python_modules(root).items() if part_of(module) not in known]


def wrong_imports(root: Path) -> list[str]:
    """Imports against the plan: of a part that is not below, or inside of a function where it does not name them."""
    found = []
    for each in python_imports(root):
        own, other = part_of(each.module), part_of(each.target)
        if other == "_ingot" or own == "ingot" and each.when == "types":
            continue
        if each.when == "late":
            is_right = other in LATE.get(own, set())
        elif each.when == "types":
            is_right = other in closure(PYTHON_PLAN, own) | TYPES.get(own, set())
        elif other == "_core":
            is_right = own in WITH_CORE
        else:
            is_right = other in closure(PYTHON_PLAN, own) or own == "ingot" or other == "ingot" and own in ("__main__", "_command", "tour")
        if not is_right:
            found.append(f"{each.place}: {own} -> {other}" + (f" ({each.when})" if each.when != "at once" else ""))
    return found


def circles(arrows: dict[str, set[str]]) -> list[set[str]]:
    """What can be reached from itself, together with what it reaches that way."""
    reached = {one: set().union(*(closure(arrows, other) for other in others)) for one, others in arrows.items()}
    found: list[set[str]] = []
    for one, all_of in reached.items():
        if one in all_of and not any(one in circle for circle in found):
            found.append({other for other in all_of if one in reached.get(other, set())})
    return found


def circular_imports(root: Path) -> list[str]:
    """Modules that import each other when they are loaded."""
    arrows: dict[str, set[str]] = {}
    for each in python_imports(root):
        if each.when == "at once" and "ingot" not in (each.module, each.target):
            arrows.setdefault(each.module, set()).add(each.target)
    return ["circle of " + ", ".join(sorted(circle)) for circle in circles(arrows) if frozenset(circle) not in MUTUAL]


def unknown_modules(root: Path) -> list[str]:
    """Modules of the package that C++ imports by names which none has."""
    modules, found = python_modules(root), []
    for _, path in sources(root):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in re.findall(r'\bimport(?:ed|_)\("(ingot\.[\w.]+)"\)', line):
                if name not in modules and name.removeprefix("ingot.") not in (*EXTENSIONS, "library._index"):
                    found.append(f"{path.relative_to(root)}:{number}: {name}")
    return found


def tracked_texts(root: Path) -> Iterator[tuple[Path, str]]:
    """Each tracked file of text that is there, with its text."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        path = root / name
        if path.is_file():
            try:
                yield path.relative_to(root), path.read_text()
            except UnicodeDecodeError:
                pass  # not text


def long_files(root: Path) -> list[str]:
    """Tracked code of more than LONGEST_FILE lines."""
    return [
        f"{path}: {len(text.splitlines())} lines"
        for path, text in tracked_texts(root)
        if path.suffix in CODE and path.name not in UNLIMITED and len(text.splitlines()) > LONGEST_FILE
    ]


def unwanted_words(root: Path) -> list[str]:
    """Lines of tracked files that hold what UNWANTED names."""
    return [
        f"{path}:{number}: {name}: {line.strip()}"
        for path, text in tracked_texts(root)
        for number, line in enumerate(text.splitlines(), 1)
        for name, pattern in UNWANTED.items()
        if pattern.search(line)
    ]


PYTHON_RULES = [unplanned_parts, wrong_imports, circular_imports, unknown_modules]
RULES = [unplanned_arrows, wrong_includes, wrong_folders, confined_includes, targets_outside, *PYTHON_RULES, long_files, unwanted_words]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_repository_keeps_the_rule(rule):
    assert rule(ROOT) == []


def test_the_plan_of_the_package_has_no_circle():
    later = {own: others - {own, "ingot", *EXTENSIONS} for own, others in LATE.items() if own != "ingot"}
    assert circles({own: others | later.get(own, set()) for own, others in PYTHON_PLAN.items()}) == []


def test_late_imports_of_the_plan_are_made():
    """What is not needed any more is not in the plan."""
    made: dict[str, set[str]] = {}
    for each in python_imports(ROOT):
        if each.when == "late":
            made.setdefault(part_of(each.module), set()).add(part_of(each.target))
    assert {own: others - made.get(own, set()) for own, others in LATE.items()} == {own: set() for own in LATE}


def plant(root: Path, files: dict[str, str]) -> Path:
    """A small repository with these files and two components that keep the rules."""
    sound = {
        "src/base/CMakeLists.txt": "ingot_component(base SOURCES a.cpp)\n",
        "src/base/a.h": "#include <vector>\n",
        "src/ir/CMakeLists.txt": "ingot_component(ir SOURCES b.cpp\n  DEPENDS base)\n",
        "src/ir/b.cpp": '#include "base/a.h"\n#include "ir/b.h"\n',
        "src/driver/c.cpp": '#include "base/a.h"\n#include "ingot/d.h"\n#include <thread>\n',
        "include/ingot/d.h": '#include "driver/c.h"\n',
        "src/codegen/e.cpp": '#include "llvm/IR/Module.h"\n',
        "src/devices/cuda.cpp": '#include "devices/cuda.h"\n#include <mutex>\n',
        "src/bindings/f.cpp": '#include <Python.h>\n#include <nanobind/nanobind.h>\n#include "frontend/f.h"\n',
        "src/bindings/g.cpp": 'import_("ingot._code").attr("a"); imported("ingot._core"); imported("ingot._code.scope");\n',
        "python/ingot/__init__.py": "def __getattr__(name):\n    from ._command import notebook\n",
        "python/ingot/_code/__init__.py": "from .._errors import A\n",
        "python/ingot/_code/scope.py": "from .. import _ingot\nfrom . import a\n\ndef f():\n    from .. import _core\n",
        "python/ingot/_command/notebook.py": "import ast\nfrom ingot._code import scope\n",
        "python/ingot/_errors.py": "def f():\n    from ._refusals import advice\n",
        "python/ingot/_refusals/advice.py": "",
    }
    for name, text in {**sound, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    return root


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_sound_repository_passes(rule, tmp_path):
    assert rule(plant(tmp_path, {})) == []


PLANTED = [
    (unplanned_arrows, "src/base/CMakeLists.txt", "ingot_component(base SOURCES a.cpp DEPENDS ir)", "base -> ir"),
    (unplanned_arrows, "src/ir/CMakeLists.txt", "ingot_component(ir DEPENDS base runtime SOURCES b.cpp)", "ir -> runtime"),
    (unplanned_arrows, "src/attic/g.cpp", "", "src/attic: not in the plan"),
    (wrong_includes, "src/base/a.h", '#include "ir/b.h"', "src/base/a.h:1: ir/b.h"),
    (wrong_includes, "src/ir/b.cpp", "\n#  include <runtime/abi.h>", "src/ir/b.cpp:2: runtime/abi.h"),
    (wrong_includes, "src/ir/CMakeLists.txt", "ingot_component(ir SOURCES b.cpp)", "src/ir/b.cpp:1: base/a.h"),
    (wrong_includes, "src/transform/h.cpp", '#include "ingot/d.h"', "src/transform/h.cpp:1: ingot/d.h"),
    (wrong_includes, "src/driver/c.cpp", '#include "frontend/f.h"', "src/driver/c.cpp:1: frontend/f.h"),
    (wrong_includes, "src/devices/c.cpp", '#include "softgpu/machine/warp.h"', "src/devices/c.cpp:1: softgpu/machine/warp.h"),
    (wrong_includes, "softgpu/machine/a.h", '#include "base/a.h"', "softgpu/machine/a.h:1: base/a.h"),
    (wrong_folders, "src/transform/loops/a.cpp", '#include "transform/arrays/b.h"', "src/transform/loops/a.cpp:1: transform/arrays/b.h"),
    (wrong_folders, "src/transform/loops/a.cpp", '#include "transform/passes.h"', "src/transform/loops/a.cpp:1: transform/passes.h"),
    (wrong_folders, "src/transform/attic/a.cpp", "", "src/transform/attic/a.cpp: no folder of the plan"),
    (wrong_folders, "src/frontend/joins/a.cpp", '#include "frontend/loops/b.h"', "src/frontend/joins/a.cpp:1: frontend/loops/b.h"),
    (wrong_folders, "src/frontend/a.h", '#include "frontend/tracer/b.h"', "src/frontend/a.h:1: frontend/tracer/b.h"),
    (confined_includes, "src/ir/b.cpp", "#include <llvm/ADT/APInt.h>", "src/ir/b.cpp:1: LLVM in ir"),
    (confined_includes, "src/driver/c.cpp", "#include <Python.h>", "src/driver/c.cpp:1: Python in driver"),
    (confined_includes, "include/ingot/d.h", "#include <nanobind/ndarray.h>", "include/ingot/d.h:1: Python in ingot"),
    (confined_includes, "src/bindings/i.cpp", '#include "transform/functions/simplify.h"', "src/bindings/i.cpp:1: passes in bindings"),
    (confined_includes, "src/transform/h.cpp", "#include <mutex>", "src/transform/h.cpp:1: threads in transform"),
    (targets_outside, "src/codegen/e.cpp", "#include <llvm/IR/IntrinsicsX86.h>", "src/codegen/e.cpp:1: instructions of one CPU"),
    (targets_outside, "src/codegen/e.cpp", '#include "codegen/targets/device.h"', "src/codegen/e.cpp:1: a target"),
    (targets_outside, "src/transform/h.cpp", 'if (name == "avx") {', "src/transform/h.cpp:1: a target's name"),
    (targets_outside, "src/runtime/h.cpp", "CudaDevice* device;", "src/runtime/h.cpp:1: a vendor's name"),
    (unplanned_parts, "python/ingot/_attic.py", "", "python/ingot/_attic.py: not in the plan"),
    (wrong_imports, "python/ingot/_errors.py", "from ._code import scope", "python/ingot/_errors.py:1: _errors -> _code"),
    (wrong_imports, "python/ingot/_code/a.py", "\nfrom ingot._command.notebook import x", "python/ingot/_code/a.py:2: _code -> _command"),
    (wrong_imports, "python/ingot/_code/a.py", "import ingot._command", "python/ingot/_code/a.py:1: _code -> _command"),
    (wrong_imports, "python/ingot/_code/a.py", "def f():\n    from .. import _errors", "python/ingot/_code/a.py:2: _code -> _errors (late)"),
    (wrong_imports, "python/ingot/_code/a.py", "from .. import _core", "python/ingot/_code/a.py:1: _code -> _core"),
    (wrong_imports, "python/ingot/_code/a.py", "if TYPE_CHECKING:\n    from .._cache import b", "python/ingot/_code/a.py:2: _code -> _cache (types)"),
    (circular_imports, "python/ingot/_code/__init__.py", "from . import scope", "circle of ingot._code, ingot._code.scope"),
    (unknown_modules, "src/bindings/h.cpp", '\nimported("ingot._scope")', "src/bindings/h.cpp:2: ingot._scope"),
    (long_files, "src/ir/long.cpp", "\n" * 1001, "src/ir/long.cpp: 1001 lines"),
    (unwanted_words, "docs/a.md", "/ho" + "me/me/x", "docs/a.md:1: a path of one machine: /ho" + "me/me/x"),
    (unwanted_words, "tools/b", "x=/wo" + "rk/x", "tools/b:1: a path of one machine: x=/wo" + "rk/x"),
    (unwanted_words, "a.cpp", "// TO" + "DO: later", "a.cpp:1: a note of work left over: // TO" + "DO: later"),
]
PLANTED_IDS = [f"{rule.__name__}-{name}" for rule, name, *_ in PLANTED]


@pytest.mark.parametrize("rule, name, text, violation", PLANTED, ids=PLANTED_IDS)
def test_a_planted_violation_is_found(rule, name, text, violation, tmp_path):
    assert rule(plant(tmp_path, {name: text})) == [violation]


def test_the_op_table_may_be_long(tmp_path):
    assert long_files(plant(tmp_path, {"src/ir/ops.def": "\n" * 2000})) == []
