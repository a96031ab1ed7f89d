"""A plugin of pytest's: `-p on_device` has tests run compiled functions on the software device instead of the host.

Arguments are moved for each call, so that what `support.check` compares is what it compares on the host.
"""

import support
from ingot._function import Function


def on_the_device(function, mode="compiled"):
    return Function(function, mode=mode, device="emulated" if mode == "compiled" else None)


support.jitted = on_the_device
support.MODES = ("compiled",)
support.check.__kwdefaults__["modes"] = support.MODES
