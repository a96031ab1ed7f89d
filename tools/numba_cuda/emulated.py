"""A pytest plugin for Numba-CUDA's own tests on the software device: what they need, and what is not for it."""

import ctypes
import os

import pytest

# By the end of the test's name: why the software device cannot do it.
NOT_APPLICABLE = {
    "test_dispatcher_cpointer_arguments": "it reads 16 elements of an array of 10, which is a fault here",
    "test_struct_model_type_arr": "it writes 10 elements of an array of 1, which is a fault here",
    "test_device_arch_specific": "tensor maps",
    "test_issue_9229": "5.7e9 threads, which take minutes",
    "test_set_registers_38": "registers are PTX's",
    "test_set_registers_57": "registers are PTX's",
    "test_set_registers_eager": "registers are PTX's",
}


def pytest_addoption(parser):
    parser.addoption("--dump-failed-filechecks", action="store_true", default=False)


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = request.config.getoption(
        "dump_failed_filechecks"
    )


def reason(item) -> str | None:
    if "test_ipc.py" in item.nodeid:
        return "memory of other processes"
    return NOT_APPLICABLE.get(item.name)


def pytest_collection_modifyitems(items):
    for item in items:
        why = reason(item)
        if why is not None:
            item.add_marker(pytest.mark.skip(reason=f"not applicable: {why}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    """A fault stays until the context is reset; without this all later tests would fail."""
    try:
        return (yield)
    finally:
        library = ctypes.CDLL("libcuda.so.1")
        if library.cuCtxSynchronize() >= 700:
            from numba.cuda.cudadrv import devices, driver

            library.cuDevicePrimaryCtxReset_v2(0)
            try:
                devices.reset()
            except driver.CudaAPIError as error:
                print(f"after a fault: {error}")


def pytest_runtest_logreport(report):
    """Writes a line for each test, and for each subtest that failed: what came of it, where, the last line, seconds."""
    path = os.environ.get("NUMBA_CUDA_RESULTS")
    if path is None or os.environ.get("PYTEST_XDIST_WORKER") is not None:
        return
    is_part = type(report).__name__ == "SubtestReport"
    if report.outcome == "passed" and (is_part or report.when != "call"):
        return
    last = (
        str(report.longrepr).strip().splitlines()[-1:]
        if report.longrepr is not None
        else []
    )
    text = "".join(last).replace("\t", " ")[:300]
    with open(path, "a") as out:
        out.write(f"{report.outcome}\t{report.nodeid}\t{text}\t{report.duration:.1f}\n")
