"""Fixtures of all tests."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest

import cairndb


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A path at which there is nothing yet."""
    return str(tmp_path / "db")


@pytest.fixture
def db(path: str) -> Iterator[cairndb.Database]:
    """An empty database, which is closed after the test."""
    with cairndb.open(path) as db:
        yield db


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Runs a program in a process of its own, which must succeed silently; returns its output."""

    def run(program: str, *arguments: str) -> str:
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(program))
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", str(file), *arguments],
            capture_output=True,
            timeout=120,
            check=False,
            text=True,
        )
        assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr)
        return done.stdout

    return run
