"""The examples in the docstrings, and in the guide's page for Python."""

from __future__ import annotations

import doctest
import inspect
import os
import re
import runpy
import shelve
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, Callable

import pytest

import cairndb
import cairndb.aio
from cairndb import _cairndb, _types

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "docs" / "guide" / "python.md", ROOT / "clients" / "python" / "README.md"]

PUBLIC: list[Any] = [getattr(cairndb, name) for name in cairndb.__all__]
CLASSES = [
    *(found for found in PUBLIC if inspect.isclass(found)),
    _cairndb.Reader,
    _cairndb.Database,
    _cairndb.Keyspace,
    _cairndb.Transaction,
    cairndb.aio.Changes,
    cairndb.aio.Database,
    cairndb.aio.Range,
    cairndb.aio.Snapshot,
    cairndb.aio.Batch,
]


def _examples() -> list[Any]:
    """Return each docstring that has an example, with its name."""
    texts: dict[str, str] = {"cairndb": cairndb.__doc__ or "", "aio": cairndb.aio.__doc__ or ""}
    for found in [*PUBLIC, *CLASSES]:
        name = getattr(found, "__name__", str(found))
        if getattr(found, "__module__", "cairndb") != "cairndb":
            # Has the name of the class that derives from it.
            name = f"{found.__module__}.{name}"
        texts[name] = getattr(found, "__doc__", None) or ""
        for member, value in vars(found).items() if inspect.isclass(found) else ():
            texts[f"{name}.{member}"] = getattr(value, "__doc__", None) or ""
    return [pytest.param(text, id=name) for name, text in texts.items() if ">>>" in text]


EXAMPLES = _examples()


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples(text: str, tmp_path: Path) -> None:
    path = str(tmp_path / "stones")
    with cairndb.open(str(tmp_path / "db")) as db:
        names = {"cairndb": cairndb, "db": db, "path": path}
        parsed = doctest.DocTestParser().get_doctest(inspect.cleandoc(text), names, "doc", None, 0)
        assert parsed.examples
        results = doctest.DocTestRunner(verbose=False).run(parsed)
    assert results.failed == 0


def test_there_are_enough_examples() -> None:
    assert len(EXAMPLES) > 18


def test_everything_public_is_documented() -> None:
    missing = []
    for found in CLASSES:
        for name, value in vars(found).items():
            documented = not callable(value) or value.__doc__
            if not name.startswith("_") and not documented:
                missing.append(f"{found.__name__}.{name}")
    assert not missing


def test_the_options_of_aio_are_those_of_open() -> None:
    named = inspect.signature(cairndb.open).parameters
    keywords = {name for name, it in named.items() if it.kind is inspect.Parameter.KEYWORD_ONLY}
    assert keywords == set(_types.Options.__annotations__)


def test_the_version_is_that_of_the_package() -> None:
    assert cairndb.__version__ == _cairndb.__version__
    try:
        assert cairndb.__version__ == metadata.version("cairndb")
    except metadata.PackageNotFoundError:
        pass


def test_the_package_runs_the_tool(tmp_path: Path) -> None:
    tool = tmp_path / "cairn"
    command = [sys.executable, "-m", "cairndb", "verify", "stones"]
    here = {**os.environ, "PATH": str(tmp_path)}
    missing = subprocess.run(command, env=here, capture_output=True, text=True, check=False)
    assert missing.returncode == 1 and "make install-cairn" in missing.stderr
    tool.write_text('#!/bin/sh\necho "cairn $*"\n')
    tool.chmod(0o755)
    found = subprocess.run(command, env=here, capture_output=True, text=True, check=True)
    assert found.stdout == "cairn verify stones\n"


def test_every_name_of_the_stub_exists() -> None:
    stub = Path(cairndb.__file__).parent / "_cairndb.pyi"
    names = re.findall(r"^(?:class|def) (\w+)", stub.read_text(), re.MULTILINE)
    assert len(names) > 10
    assert [name for name in names if not hasattr(_cairndb, name)] == []
    for found in (
        _cairndb.Reader,
        _cairndb.Database,
        _cairndb.Transaction,
        _cairndb.Scan,
        _cairndb.Batch,
    ):
        body = stub.read_text().split(f"class {found.__name__}(")[-1].split("\nclass ")[0]
        if f"class {found.__name__}(" not in stub.read_text():
            body = stub.read_text().split(f"class {found.__name__}:")[1].split("\nclass ")[0]
        stubbed = set(re.findall(r"def (\w+)", body))
        public = {name for name in vars(found) if not name.startswith("_")}
        assert public <= stubbed, found


def test_the_stub_has_the_docstrings() -> None:
    tool = Path(__file__).parents[1] / "stub.py"
    if not tool.exists():
        pytest.skip("the tool is in the repository only")
    made = runpy.run_path(str(tool))["documented"]
    text = (Path(cairndb.__file__).parent / "_cairndb.pyi").read_text()
    assert '"""Returns the value of `key`, or `default`.' in text
    assert text == made(text), "run clients/python/stub.py"


def _blocks(page: Path) -> list[str]:
    if not page.exists():
        pytest.skip("the page is in the repository only")
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_pages(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `python` block of a page runs, in order, in one directory."""
    blocks = _blocks(page)
    monkeypatch.chdir(tmp_path)
    with shelve.open("old") as old:
        old["key"] = "value"
    assert len(blocks) >= 2
    names: dict[str, Any] = {"__name__": "page"}
    for number, block in enumerate(blocks):
        if ">>>" in block:
            parsed = doctest.DocTestParser().get_doctest(block, names, f"block {number}", None, 0)
            runner = doctest.DocTestRunner(verbose=False)
            assert runner.run(parsed, clear_globs=False).failed == 0, block
            names.update(parsed.globs)
        else:
            exec(compile(block, f"{page}, block {number}", "exec"), names)


def test_programs_of_the_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Callable[..., str]
) -> None:
    """A block that starts processes runs as a program: each of them imports it."""
    programs = [block for block in _blocks(PAGES[0]) if '__name__ == "__main__"' in block]
    assert len(programs) == 1
    monkeypatch.chdir(tmp_path)
    assert script(programs[0]) == ""
    with cairndb.open("quarry", "r") as db:
        assert len(db) == 300
