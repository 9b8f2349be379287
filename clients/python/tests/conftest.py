"""Fixtures of all tests."""

from __future__ import annotations

import itertools
import operator
import random
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional

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


class Stopped(Exception):
    """Raised by the handler of a signal."""


@pytest.fixture
def interrupted() -> Iterator[Callable[..., bool]]:
    """Makes calls of a function in C, each with a signal on its way, until one of them ends by it.

    Returns whether one did. A call that does not look for signals returns first: the result is in a
    list before the interpreter looks for them.
    """
    running: Any = None

    def handle(number: int, frame: Any) -> None:
        if running is None:
            return
        if frame.f_code is running.__code__:
            raise Stopped
        # Python code that the call runs first, such as `os.fsdecode`.
        signal.setitimer(signal.ITIMER_REAL, 1e-5)

    def once(
        function: Callable[..., Any], arguments: tuple[Any, ...], delay: float
    ) -> Optional[bool]:
        """Returns whether the call returned before the signal; `None` if the signal ended it."""
        nonlocal running
        pending, results = iter([arguments]), []

        def run() -> None:
            signal.setitimer(signal.ITIMER_REAL, delay)
            results.extend(itertools.starmap(function, pending))

        running = run
        try:
            run()
        except Stopped:
            begun = operator.length_hint(pending) == 0
            return None if begun and not results else begun
        finally:
            running = None
            signal.setitimer(signal.ITIMER_REAL, 0)
        return True

    def call(
        function: Callable[..., Any],
        arguments: Callable[[], tuple[Any, ...]],
        good: Optional[Callable[[], bool]] = None,
    ) -> bool:
        # A call of less than 50 ms looks once, when it begins: a few microseconds to hit. The
        # delay follows what was too early and too late, at a random distance, since a slow machine
        # needs another one and a busy one not always the same.
        delay, distances = 1e-5, random.Random(1)
        for _ in range(10_000):
            late = once(function, arguments(), delay)
            if late is None and (good is None or good()):
                return True
            factor = distances.uniform(1, 1.5)
            delay = max(1e-6, min(delay / factor if late else delay * factor, 1))
        return False

    before = signal.signal(signal.SIGALRM, handle)
    yield call
    signal.signal(signal.SIGALRM, before)
