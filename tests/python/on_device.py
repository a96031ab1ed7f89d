"""A plugin of pytest's: `-p on_device` has tests run compiled functions on the software device instead of the host; on
the device that INGOT_ON_DEVICE names, if it is set.

Arguments are moved for each call, so that what `support.check` compares is what it compares on the host.
"""

import os

import support
from ingot._function import Function


DEVICE = os.environ.get("INGOT_ON_DEVICE", "emulated")


def on_the_device(function, mode="compiled"):
    return Function(function, mode=mode, device=DEVICE if mode == "compiled" else None)


support.jitted = on_the_device
support.MODES = ("compiled",)
support.check.__kwdefaults__["modes"] = support.MODES
