"""Hides nvJitLink, which makes cubins: Numba-CUDA then links by the driver, which here keeps PTX."""

from cuda import pathfinder

load = pathfinder.load_nvidia_dynamic_lib


def load_all_but_one(name: str):
    if name == "nvJitLink":
        raise pathfinder.DynamicLibNotFoundError(
            "nvJitLink makes cubins, which the software device cannot run"
        )
    return load(name)


pathfinder.load_nvidia_dynamic_lib = load_all_but_one
