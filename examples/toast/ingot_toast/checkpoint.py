"""Checkpoints of a run: files of arrays that are valid as a whole, or not at all."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from .comm import Comm


class Checkpoint:
    """A folder from which an interrupted run goes on: the simulated signal, and the solver's state after each `every` steps.

    Each process has files of its own. What is written is valid at once, or not at all: a small file names the step that all
    processes have written. A file that cannot be read is a ValueError with its name.
    """

    def __init__(self, folder: Path, comm: Comm, settings: dict[str, Any], every: int = 10) -> None:
        if every < 1:
            raise ValueError(f"a checkpoint is written each so many steps, 1 or more, not each {every}")
        self.folder, self.comm, self.every = folder, comm, every
        if comm.rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
            written = folder / "settings.json"
            if not written.exists():
                self._replace(written, json.dumps(settings).encode())
        self._together()
        found = self._read(folder / "settings.json")
        if found != settings:
            raise ValueError(f"the checkpoint in {folder} is of another run: {found}, not {settings}")

    def save(self, stage: str, step: int, arrays: dict[str, Any]) -> None:
        """Writes what this process has; valid when all have written theirs."""
        self._replace(self._file(stage, step), arrays)
        self._together()
        last = self.last(stage)
        self._together()
        if self.comm.rank == 0:
            self._replace(self.folder / f"{stage}.json", json.dumps({"step": step}).encode())
        self._together()
        if last is not None and last != step:
            self._file(stage, last).unlink(missing_ok=True)

    def last(self, stage: str) -> int | None:
        """The last step that all processes have written."""
        written = self.folder / f"{stage}.json"
        if not written.exists():
            return None
        step = self._read(written)
        if not isinstance(step, dict) or not isinstance(step.get("step"), int):
            raise damaged(written, "it names no step")
        return step["step"]

    def load(self, stage: str) -> dict[str, np.ndarray] | None:
        """What this process wrote at the last step, or None."""
        step = self.last(stage)
        if step is None:
            return None
        return self._read(self._file(stage, step))

    def _read(self, path: Path) -> Any:
        try:
            if path.suffix == ".json":
                return json.loads(path.read_text())
            with open(path, "rb") as file:
                if not zipfile.is_zipfile(file):
                    raise ValueError("it is no file of arrays")
                file.seek(0)
                with np.load(file) as arrays:
                    return dict(arrays)
        except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
            raise damaged(path, str(error)) from error

    def _file(self, stage: str, step: int) -> Path:
        return self.folder / f"{stage}-{step}-{self.comm.rank}.npz"

    def _replace(self, path: Path, content: bytes | dict[str, Any]) -> None:
        part = path.with_name(path.name + ".part")
        with open(part, "wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                np.savez(file, **content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)

    def _together(self) -> None:
        if self.comm.size > 1:
            self.comm.world.Barrier()


def damaged(path: Path, why: str) -> ValueError:
    """What is raised where a file of a checkpoint cannot be read."""
    return ValueError(f"the checkpoint's {path} cannot be read ({why}): remove its folder to begin anew")
