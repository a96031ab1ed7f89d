"""`python -m ingot cache`: what the cache on disk holds."""

from __future__ import annotations

import argparse
import time
from typing import Any

from .._cache.folder import Folder, is_on, limit, where


def _bytes(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def _info(folder: Folder) -> int:
    files = list(folder.files())
    print(f"folder   {folder.path}{'' if is_on() else ' (not used: INGOT_CACHE is off)'}")
    print(f"files    {len(files)}")
    print(f"size     {_bytes(sum(f.size for f in files))} of {_bytes(folder.limit)}")
    if files:
        hours = (time.time() - min(f.used for f in files)) / 3600
        print(f"oldest   last used {hours:.1f} hours ago")
    return 0


def _clear(folder: Folder) -> int:
    print(f"{folder.clear()} files removed from {folder.path}")
    return 0


def _verify(folder: Folder) -> int:
    """Removes what is damaged, and reports it by its exit status."""
    files = list(folder.files())
    damaged = [each.name for each in files if not folder.is_whole(each.name)]
    for name in damaged:
        folder.remove(name)
        print(f"{name}: damaged, removed")
    print(f"{len(files) - len(damaged)} of {len(files)} files are whole")
    return 1 if damaged else 0


_ACTIONS = {"info": _info, "clear": _clear, "verify": _verify}


def _run(options: argparse.Namespace) -> int:
    folder = Folder(where(), limit())
    try:
        return _ACTIONS[options.action](folder)
    except FileNotFoundError:
        print(f"nothing is stored: there is no {folder.path}")
        return 0
    except OSError as error:
        print(f"{folder.path} cannot be used: {error.strerror or error}")
        return 1


def add_command(subparsers: Any) -> None:
    parser = subparsers.add_parser("cache", help="what the cache of compiled code holds")
    parser.add_argument("action", choices=tuple(_ACTIONS), help="info: folder and size; clear: remove all; verify: read all, and remove what is damaged")
    parser.set_defaults(run=_run)
