"""The components: which may include which, and what no file may contain.

The dependences are in two files that must agree: PLAN below, and the DEPENDS of each src/<component>/CMakeLists.txt. Each rule
is a function from a tree to its violations, tried on this repository and on a planted violation.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PLAN = {
    "base": set(),
    "ir": {"base"},
    "transform": {"ir"},
    "codegen": {"ir"},
    "devices": {"base"},
    "runtime": {"base", "devices"},
    "standalone": {"runtime"},
    "emulator": {"base"},
    "frontend": {"ir"},
    "driver": {"transform", "codegen", "runtime"},
    "bindings": {"driver", "frontend"},
    "tools": {"driver"},
    "ingot": {"driver"},  # include/ingot, the public API
}
# The public headers are implemented in, and used by, these.
PUBLIC_HEADERS_IN = {"runtime", "driver", "bindings", "tools"}

# What only some components may include.
CONFINED = {
    "LLVM": (re.compile(r"llvm(-c)?/"), {"codegen"}),
    "Python": (re.compile(r"Python\.h$|nanobind/|numpy/"), {"frontend", "bindings"}),
    "passes": (re.compile(r"transform/"), {"transform", "driver", "tools"}),
    "code generation": (re.compile(r"codegen/"), {"codegen", "driver"}),
    "threads": (
        re.compile(r"(thread|mutex|shared_mutex|condition_variable|future|semaphore|pthread\.h)$"),
        {"codegen", "devices", "runtime", "standalone", "emulator", "frontend", "driver", "bindings", "tools", "ingot"},
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
VENDOR_NAMES_IN = {"src/devices", "src/emulator", "src/driver", "src/codegen/targets", "src/frontend"}

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
    """Each C++ file of src/ and include/ with its component."""
    for folder in ("src", "include"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".c", ".def", ".inc"):
                yield path.relative_to(root / folder).parts[0], path


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


RULES = [unplanned_arrows, wrong_includes, confined_includes, targets_outside, long_files, unwanted_words]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_repository_keeps_the_rule(rule):
    assert rule(ROOT) == []


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
    (confined_includes, "src/ir/b.cpp", "#include <llvm/ADT/APInt.h>", "src/ir/b.cpp:1: LLVM in ir"),
    (confined_includes, "src/driver/c.cpp", "#include <Python.h>", "src/driver/c.cpp:1: Python in driver"),
    (confined_includes, "include/ingot/d.h", "#include <nanobind/ndarray.h>", "include/ingot/d.h:1: Python in ingot"),
    (confined_includes, "src/bindings/i.cpp", '#include "transform/simplify.h"', "src/bindings/i.cpp:1: passes in bindings"),
    (confined_includes, "src/transform/h.cpp", "#include <mutex>", "src/transform/h.cpp:1: threads in transform"),
    (targets_outside, "src/codegen/e.cpp", "#include <llvm/IR/IntrinsicsX86.h>", "src/codegen/e.cpp:1: instructions of one CPU"),
    (targets_outside, "src/codegen/e.cpp", '#include "codegen/targets/device.h"', "src/codegen/e.cpp:1: a target"),
    (targets_outside, "src/transform/h.cpp", 'if (name == "avx") {', "src/transform/h.cpp:1: a target's name"),
    (targets_outside, "src/runtime/h.cpp", "CudaDevice* device;", "src/runtime/h.cpp:1: a vendor's name"),
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
