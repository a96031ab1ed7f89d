"""Variables of the environment: each is on the page of them, and no word that one may have makes an import fail."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ingot import _environment
from ingot._environment import VARIABLES, value_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "environment.md").read_text()


def _run(text, *options, **variables):
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES} | variables
    return subprocess.run([sys.executable, *options, "-c", text], env=environment, capture_output=True, text=True, timeout=60)


def test_each_variable_of_the_sources_is_on_the_page():
    sources = [path for folder, kinds in (("python", ("py",)), ("src", ("cpp", "h")), ("softgpu", ("cpp", "h"))) for kind in kinds for path in (ROOT / folder).rglob(f"*.{kind}")]
    named = {name for path in sources for name in re.findall(r'"(INGOT_[A-Z_]+)"', path.read_text())}
    assert {"INGOT_CACHE", "INGOT_VECTORS", "INGOT_EMULATOR_SEED", "INGOT_CPU_LEVEL"} <= named
    on_page = set(re.findall(r"`(INGOT_[A-Z_]+)`", PAGE))
    assert named == on_page


def test_variables_of_others_are_on_the_page():
    sources = [path for folder, kinds in (("python", ("py", "h")), ("src", ("cpp", "h"))) for kind in kinds for path in (ROOT / folder).rglob(f"*.{kind}")]
    texts = [path.read_text() for path in sources]
    named = {name for text in texts for name in re.findall(r'(?:getenv\(|environ(?:\.get\(|\[))"([A-Z_]+)"', text)}
    named |= {name for text in texts if "getenv(variable)" in text or "environ[variable]" in text for name in re.findall(r'"([A-Z]+_(?:HOME|PATH))"', text)}
    assert {"XDG_CACHE_HOME", "CUDA_HOME", "CC", "INGOT_CPU_LEVEL"} <= named
    assert named <= set(re.findall(r"`([A-Z_]+)`", PAGE))


def test_the_page_has_a_row_for_each_variable():
    rows = dict(re.findall(r"^\| `(INGOT_[A-Z_]+)` \| (.*?) \|", PAGE, re.MULTILINE))
    assert set(VARIABLES) <= set(rows)
    for name, variable in VARIABLES.items():
        for word in re.findall(r"`(\w+)`", rows[name]):
            assert variable.read(word) is not None, (name, word)


BAD = {name: "bogus" for name in VARIABLES if name not in ("INGOT_CACHE_DIR", "INGOT_PROFILE", "INGOT_PROFILE_TRACE")}
USE = """
import json, warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import ingot, numpy as np
    @ingot.jit
    def f(x): return x + 1
    f(np.ones(3))
    f(np.ones((3, 3)))
import ingot._cache as c
print(json.dumps([[str(w.message) for w in seen], ingot.get_num_threads(), ingot.memory()["limit"], c.limit(), bool(f.specialisations), c.cache() is not None]))
"""


@pytest.fixture(scope="module")
def default(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("cache"))
    return folder, json.loads(_run(USE, INGOT_CACHE_DIR=folder).stdout)


def test_bad_words_are_reported_once_and_the_default_holds(default):
    folder, expected = default
    done = _run(USE, INGOT_CACHE_DIR=folder, **BAD)
    assert done.returncode == 0, done.stderr
    told, *values = json.loads(done.stdout)
    assert expected[0] == [] and values == expected[1:]
    assert told == [f"{name} is {VARIABLES[name].allowed}, not 'bogus': it is taken as not set" for name in VARIABLES if name in BAD]


def test_empty_words_mean_nothing(default):
    folder, expected = default
    done = _run(USE, **dict.fromkeys([*VARIABLES, "INGOT_CACHE_BYTES"], "") | {"INGOT_CACHE_DIR": folder})
    assert json.loads(done.stdout) == expected, done.stderr


def test_warnings_that_are_errors_make_no_import_fail():
    done = _run("import ingot; print(ingot.get_num_threads() > 0)", "-W", "error", INGOT_NUM_THREADS="-1", INGOT_CACHE="perhaps")
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert "INGOT_NUM_THREADS is a number of threads from 1 to 256, not '-1'" in done.stderr and "INGOT_CACHE is on or off" in done.stderr


def test_the_former_name_of_kept_memory_is_reported():
    text = "import warnings\nwith warnings.catch_warnings(record=True) as seen:\n    import ingot\nprint(ingot.memory()['limit'], *[w.message for w in seen])"
    assert _run(text, INGOT_CACHE_BYTES="12345").stdout.startswith("12345 INGOT_CACHE_BYTES is called INGOT_KEPT_MEMORY now")
    assert _run(text, INGOT_CACHE_BYTES="12345", INGOT_KEPT_MEMORY="54321").stdout.startswith("54321 ")
    assert _run(text, INGOT_KEPT_MEMORY="54321").stdout == "54321\n"


@pytest.mark.parametrize(
    ("name", "word", "value"),
    [
        ("INGOT_CACHE", "OFF", False),
        ("INGOT_CACHE", "no", False),
        ("INGOT_DISABLE", "1", True),
        ("INGOT_DISABLE", "0", False),
        ("INGOT_LAZY", "0", False),
        ("INGOT_OVERLAP", "off", False),
        ("INGOT_CACHE_LIMIT", "0", 0),
        ("INGOT_CACHE_LIMIT", "1e9", 1 << 30),
        ("INGOT_CACHE_LIMIT", str(1 << 63), 1 << 30),
        ("INGOT_CACHE_LIMIT", "\u0663", 1 << 30),
        ("INGOT_NUM_THREADS", "257", None),
        ("INGOT_NUM_THREADS", "0", None),
        ("INGOT_NUM_THREADS", "8", 8),
        ("INGOT_TIERS", "quick", "quick"),
        ("INGOT_VECTORS", "AVX2", None),
        ("INGOT_DEVICE_LIBRARIES", "0", "0"),
        ("INGOT_DEVICE_LIBRARIES", "/nowhere/at/all", None),
    ],
)
def test_words_and_their_values(monkeypatch, name, word, value):
    monkeypatch.setattr(_environment, "_told", set())
    monkeypatch.setenv(name, word)
    variable = VARIABLES[name]
    if variable.read(word) is None:
        with pytest.warns(RuntimeWarning, match=re.escape(f"{name} is {variable.allowed}, not {word!r}")):
            assert value_of(name) == value
    assert value_of(name) == value


def test_the_software_device_reports_words_that_it_does_not_know():
    text = "import ingot\nprint(len(ingot.devices('emulated')), ingot.memory('emulated')['limit'])"
    plain = _run(text, INGOT_EMULATOR_DEVICES="", INGOT_EMULATOR_FAIL="", INGOT_EMULATOR_MEMORY="")
    assert (plain.returncode, plain.stderr) == (0, "")
    wrong = _run(text, INGOT_EMULATOR_DEVICES="two", INGOT_EMULATOR_FAIL="1:", INGOT_EMULATOR_MEMORY="-4", INGOT_EMULATOR_SEED="0x10")
    assert wrong.stdout == plain.stdout and wrong.stderr.splitlines() == [
        "INGOT_EMULATOR_DEVICES is a number, not 'two': it is taken as not set",
        "INGOT_EMULATOR_FAIL is n or n:result, not '1:': it is taken as not set",
        "INGOT_EMULATOR_MEMORY is a number, not '-4': it is taken as not set",
    ]
    assert _run(text, INGOT_EMULATOR_DEVICES="2").stdout.startswith("2 ")
