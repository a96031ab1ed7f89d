"""`tools/shape`: what may only fall, and how it is measured."""

import importlib.machinery
import importlib.util
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("shape", str(ROOT / "tools" / "shape"))
shape = importlib.util.module_from_spec(importlib.util.spec_from_loader("shape", loader))
sys.modules["shape"] = shape  # dataclasses look there
loader.exec_module(shape)
CEILINGS = tomllib.loads(shape.CEILINGS.read_text())["shape"]


def test_no_figure_is_above_its_ceiling():
    """What grows here is written in one more place: where that is right, the commit message has the reason."""
    measured = shape.figures()
    assert measured.keys() == CEILINGS.keys()
    assert {name: value for name, value in measured.items() if value > CEILINGS[name]} == {}


SOURCE = """
#include <vector>
#define TWICE(x) \\
  { x; }
namespace ingot {
// a comment {
struct Small {
  int first = 0, second{1};
  std::vector<int> more{1, 2};
  explicit Small(int a)
      : first(a),
        second{a} {
    if (a > 0) {
      auto f = [&](int b) { return b; };
      first = f(a);
    }
  }
  enum class Color : char { Red, Green };
  struct Inner {
    int only;
  };
  template <class T>
  T get() const;
};
const char* const kText = "{ no brace";
template <class T>
T Small::get() const {
  return T('{');
}
}  // namespace ingot
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.setattr(shape, "ROOT", tmp_path)
    (tmp_path / "src" / "frontend" / "kinds").mkdir(parents=True)
    return tmp_path / "src" / "frontend"


def test_functions_and_classes(tree):
    (tree / "a.cpp").write_text(SOURCE)
    functions, classes = shape.parts(tree / "a.cpp")
    assert [(part.name, part.size, part.location) for part in functions] == [
        ("Small", 8, "src/frontend/a.cpp:10"),
        ("Small::get", 4, "src/frontend/a.cpp:26"),
    ]
    assert [(part.name, part.size) for part in classes] == [("Inner", 1), ("Small", 6)]


def test_what_is_in_the_files_of_kinds_does_not_count(tree):
    text = "if (value.as<Array>()) return value.is<Tuple>();\n"
    for name in ("a.cpp", "kinds/array.cpp"):
        (tree / name).write_text(text)
    assert shape.occurrences(shape.PATTERNS["kind_tests"]) == {"src/frontend/a.cpp": 2}


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("operator_strings", 'if (ast == "Eq" || op != "In") return;', 2),
        ("description_tags", 'if (tag == "array" || tag == "scalar") return;', 2),
        ("offset_constants", "constexpr int kFirstOffset = 8;", 1),
    ],
)
def test_patterns(tree, name, text, count):
    (tree / "a.cpp").write_text(text)
    assert sum(shape.occurrences(shape.PATTERNS[name]).values()) == count


def test_figures_that_have_fallen_are_written(tmp_path, monkeypatch):
    path = tmp_path / "ceilings.toml"
    path.write_text("[shape]\nlines = 10\nis_inside = 3\n")
    monkeypatch.setattr(shape, "CEILINGS", path)
    shape.write({"lines": 9, "is_inside": 4})
    assert path.read_text() == "[shape]\nlines = 9\nis_inside = 3\n"
