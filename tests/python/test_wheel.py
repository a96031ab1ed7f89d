"""The package as a file: its metadata, the licences of what it holds, what its libraries need of the system; and, slow, a first day with
the wheel where there is no compiler, no LLVM and no network.

INGOT_WHEEL names a wheel for this Python that is there already; else `tools/wheel` makes one.
"""

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

import ingot

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(ingot.__file__).parent
BUILD = PACKAGE.parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NOTICE = (ROOT / "NOTICE").read_text()

WHEEL_BYTES = 18_000_000
SOURCE_BYTES = 2_000_000
IMPORT_SECONDS = 1.0
"""Of `import ingot`, after NumPy: a few milliseconds on a machine that does nothing else."""
FIRST_DAY_SECONDS = 60

ALLOWED = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2"}
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}
"""Of manylinux_2_34, as auditwheel's table has them."""

is_sanitized = "asan" in os.environ.get("LD_PRELOAD", "")
is_release = "CMAKE_BUILD_TYPE:STRING=Release" in (BUILD / "CMakeCache.txt").read_text()


def headings():
    """The names that NOTICE has an entry for."""
    return re.findall(r"^(\S+(?: and \w+)?) - ", NOTICE, re.M)


def test_metadata():
    project = PROJECT["project"]
    assert ingot.__version__ == "0.1.0" and f"## [{ingot.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
    assert project["dependencies"] == ["numpy>=2.0"] and project["requires-python"] == ">=3.11"
    assert project["license-files"] == ["LICENSE", "NOTICE", "licenses/*"]
    assert f"project(ingot VERSION {ingot.__version__} " in (ROOT / "CMakeLists.txt").read_text()


def test_paths_of_debian_are_the_last_default():
    """Where LLVM is, the builder chooses: by an option, or in the environment."""
    files = [ROOT / "pyproject.toml", ROOT / "CMakePresets.json", ROOT / "CMakeLists.txt", *(ROOT / "cmake").iterdir()]
    files += [file for folder in ("src", "softgpu") for file in (ROOT / folder).rglob("CMakeLists.txt")]
    named = [line.strip() for file in files for line in file.read_text().splitlines() if "/usr/" in line]
    assert named == ["find_package(LLVM 19.1 REQUIRED CONFIG PATHS /usr/lib/llvm-19)"]


def test_warnings_end_builds_of_ingot_alone():
    options = (ROOT / "cmake" / "Options.cmake").read_text()
    assert re.search(r"option\(INGOT_WERROR .* \$\{INGOT_TESTS\}\)", options)
    assert "-Werror" not in options.replace("$<$<BOOL:${INGOT_WERROR}>:-Werror>", "")


def archives():
    """The static libraries that are linked into what the package has, by the names of their files."""
    blocks = (BUILD / "build.ninja").read_text().split("\n\n")
    links = [block for block in blocks if re.search(r"^build (python/\S+|softgpu/libcuda\.so\.1): \S+_LIBRARY_LINKER__", block, re.M)]
    assert len(links) == 3
    words = [word for block in links for line in re.findall(r"LINK_LIBRARIES = (.*)", block) for word in line.split()]
    (joined,) = {line for block in blocks for line in re.findall(r"COMMAND = .*standalone_runtime\.py (.*)", block)}
    return {Path(word).name for word in words + joined.split() if word.endswith(".a")}


@pytest.mark.skipif(is_sanitized, reason="no runtime for libraries is made with sanitizers")
def test_each_linked_library_is_in_the_notice():
    """Ingot's own components are not; all else has an entry, and an entry that nothing is linked for is out of date."""
    linked = {re.sub(r"^lib|\.a$|-static", "", name) for name in archives() if not name.startswith(("libingot_", "libsoftgpu_"))}
    linked = {"LLVM" if name.startswith("LLVM") else name for name in linked}
    assert linked == {"LLVM", "nanobind", "npyrandom", "stdc++"}
    assert linked <= set(headings())


def test_licences_are_there():
    files = {f"licenses/{path.name}" for path in (ROOT / "licenses").iterdir()}
    assert files == set(re.findall(r"licenses/[\w.-]+\w", NOTICE))
    own = Path(np.__file__).parent / "random" / "LICENSE.md"
    assert (ROOT / "licenses" / "numpy-random.md").read_text() == own.read_text()
    assert "LLVM Exceptions to the Apache 2.0 License" in (ROOT / "licenses" / "LLVM.txt").read_text()
    assert "GCC RUNTIME LIBRARY EXCEPTION" in (ROOT / "licenses" / "GCC.txt").read_text()


def test_sources_of_constants_are_in_the_notice():
    """Who is named where constants or algorithms are taken over."""
    text = "".join(path.read_text() for path in (PACKAGE / "library").glob("*.py"))
    for name in ("Giles", "Cephes", "Eigen", "XLA", "Threefry"):
        assert name in text and re.search(rf"^(JAX and )?{name} - ", NOTICE, re.M), name


def libraries(folder):
    return sorted(path for path in folder.rglob("*") if re.search(r"\.so(\.\d+)?$", path.name) and not path.is_symlink())


def read(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, timeout=60).stdout


def check_needs(library):
    """Nothing newer than manylinux_2_34 has, and no other libraries."""
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", read("readelf", "-dW", library)))
    assert needed <= ALLOWED, (library.name, needed - ALLOWED)
    versions = re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+) ", read("readelf", "-VW", library))
    assert versions
    newer = [(name, version) for name, version in versions if tuple(map(int, version.split("."))) > NEWEST[name]]
    assert not newer, (library.name, newer)


@pytest.mark.skipif(not is_release, reason="packages are made of release builds")
def test_libraries_need_no_more_than_the_platform_has():
    found = [*libraries(PACKAGE), BUILD / "softgpu" / "libcuda.so.1"]
    assert {path.name.split(".")[0] for path in found} == {"_core", "_ingot", "libcuda"}
    for library in found:
        check_needs(library)


# What follows is slow: it builds.


@pytest.fixture(scope="module")
def wheel():
    if "INGOT_WHEEL" in os.environ:
        return Path(os.environ["INGOT_WHEEL"]).resolve()
    subprocess.run([ROOT / "tools" / "wheel"], check=True, timeout=3000)
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    (found,) = (ROOT / "dist").glob(f"ingot-{ingot.__version__}-{tag}-{tag}-manylinux_2_34_x86_64.whl")
    return found


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder)
    return folder


@pytest.mark.slow
def test_contents_of_the_wheel(wheel, unpacked):
    assert wheel.stat().st_size <= WHEEL_BYTES
    (about,) = unpacked.glob("ingot-*.dist-info")
    metadata = email.message_from_string((about / "METADATA").read_text())
    assert metadata["Name"] == "ingot" and metadata["Version"] == ingot.__version__ and metadata["Requires-Dist"] == "numpy>=2.0"
    shipped = {str(path.relative_to(about / "licenses")) for path in (about / "licenses").rglob("*") if path.is_file()}
    assert shipped == {"LICENSE", "NOTICE", *(f"licenses/{path.name}" for path in (ROOT / "licenses").iterdir())}
    assert {path.name for path in unpacked.iterdir()} == {"ingot", about.name}
    names = {str(path.relative_to(unpacked / "ingot")) for path in (unpacked / "ingot").rglob("*")}
    assert names >= {"py.typed", "_cache/build", "_ahead/runtime.o", "_ahead/library.h", "softgpu/libcuda.so.1", "library/_index.py"}
    assert not any("__pycache__" in name or name.endswith((".a", ".bc", ".log")) for name in names)


@pytest.mark.slow
def test_libraries_of_the_wheel(unpacked):
    """They need what the platform has, are stripped, show their own names alone, and name no folder of the machine that built them."""
    found = libraries(unpacked)
    assert {library.name.split(".")[0] for library in found} == {"_core", "_ingot", "libcuda"} and len(found) == 3
    for library in found:
        check_needs(library)
        assert ".debug_info" not in read("readelf", "-SW", library) and ".symtab" not in read("readelf", "-SW", library)
    for name, most in (("_core", 1), ("_ingot", 3)):
        (library,) = (unpacked / "ingot").glob(f"{name}.*.so")
        assert len(re.findall(r" (?:GLOBAL|WEAK) +DEFAULT +\d+ ", read("readelf", "--dyn-syms", "-W", library))) <= most
    folders = [os.fsencode(path) + b"/" for path in (ROOT, Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve(), Path.home()) if path != Path("/")]
    for file in (path for path in unpacked.rglob("*") if path.is_file()):
        assert not [folder for folder in folders if folder in file.read_bytes()], file


HIDDEN = ("/usr/lib/llvm-19", "/usr/lib/gcc", "/usr/include", "/etc/OpenCL")


def alone():
    """The beginning of a command that runs without a network and without compilers' folders, where the system lets us have such."""
    hide = " && ".join(f"mount -t tmpfs none {folder}" for folder in HIDDEN if Path(folder).is_dir())
    prefix = ["unshare", "--map-root-user", "--net", "--mount", "sh", "-c", f'{hide} && exec "$0" "$@"']
    works = shutil.which("unshare") and subprocess.run([*prefix, "true"], capture_output=True, timeout=60).returncode == 0
    return prefix if works else []


@pytest.fixture(scope="module")
def user(wheel, tmp_path_factory):
    """The Python of a new environment with the wheel and NumPy."""
    folder = tmp_path_factory.mktemp("user")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    (packages,) = folder.glob("lib/python*/site-packages")
    for path in Path(np.__file__).parents[1].glob("numpy*"):
        shutil.copytree(path, packages / path.name)
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", wheel], check=True, timeout=300, env={})
    return python


@pytest.mark.slow
@pytest.mark.alone
def test_a_first_day_with_the_wheel(user, tmp_path):
    # `env` clears the environment once `unshare` and `mount` have been found.
    command = [*alone(), "/usr/bin/env", "-i", f"PATH={user.parent}", f"HOME={tmp_path}", user]
    command += [Path(__file__).parent / "wheel_user.py", ROOT / "docs" / "tutorial" / "1-loops.md"]
    done = subprocess.run(list(map(str, command)), cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    times = {words[0]: float(words[-1]) for words in map(str.split, done.stdout.splitlines()) if words and re.fullmatch(r"[\d.e-]+", words[-1])}
    assert times["all"] <= FIRST_DAY_SECONDS and times["import"] <= IMPORT_SECONDS, times


@pytest.mark.slow
def test_the_source_distribution(tmp_path):
    """It is small, has no tests, and finds LLVM by LLVM_DIR."""
    subprocess.run([sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", tmp_path, ROOT], check=True, timeout=300)
    (file,) = tmp_path.glob("*.tar.gz")
    assert file.stat().st_size <= SOURCE_BYTES
    with tarfile.open(file) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = (path for path in tmp_path.iterdir() if path.is_dir())
    top = {path.name for path in source.iterdir()}
    assert top == {"CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json", "LICENSE", "NOTICE", "PKG-INFO", "README.md", "cmake", "include",
                   "licenses", "pyproject.toml", "python", "softgpu", "src", "tools"}  # fmt: skip
    llvm = re.search(r"^LLVM_DIR:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M)[1]
    configure = ["cmake", "-S", source, "-B", tmp_path / "build", "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}"]
    done = subprocess.run(configure, env=os.environ | {"LLVM_DIR": llvm}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rules = (tmp_path / "build" / "build.ninja").read_text()
    assert "-Werror" not in re.sub(r"^.*clang\+\+.*$", "", rules, flags=re.M)
