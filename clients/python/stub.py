#!/usr/bin/env python3
"""Writes the docstrings of the extension module into its stub, where editors look for them.

They are written in Rust, next to the functions. Run it with the installed package after a change
there; `tests/test_docs.py` finds a stub that is not up to date.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

from cairndb import _cairndb

STUB = Path(__file__).resolve().parent / "python" / "cairndb" / "_cairndb.pyi"
COLUMNS = 100


def definitions(body: list[ast.stmt], owner: Any) -> Iterator[tuple[Any, Optional[str]]]:
    """Return every definition with its docstring: of overloads, the first one has it."""
    before = None
    for node in body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            continue
        found = getattr(owner, node.name, None)
        shown = not node.name.startswith("_") and node.name != before
        yield node, inspect.getdoc(found) if shown else None
        before = node.name
        if isinstance(node, ast.ClassDef):
            yield from definitions(node.body, found)


def docstring(text: str, indent: str) -> str:
    """Return a docstring as source, from its quotes on."""
    quotes = 'r"""' if "\\" in text else '"""'
    first, *rest = (indent + line if line else "" for line in text.splitlines())
    if len(first) + len(quotes) <= COLUMNS:
        first = first.strip()
    else:
        quotes += "\n"
    closed = f'{quotes}{first}"""'
    if not rest and len(indent + closed) <= COLUMNS:
        return closed
    return "\n".join([quotes + first, *rest, f'{indent}"""'])


def documented(stub: str) -> str:
    """Return the text of the stub with the docstrings as they are now."""
    starts = [0]
    for line in stub.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    edits: list[tuple[int, int, str]] = []
    for node, text in definitions(ast.parse(stub).body, _cairndb):
        if text is None:
            continue
        indent = " " * (node.col_offset + 4)
        first = node.body[0]
        decorators = getattr(first, "decorator_list", [])
        line = min(part.lineno for part in [first, *decorators])
        start = end = starts[line - 1] + first.col_offset
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            # A docstring, or `...`, after the colon.
            end = starts[first.end_lineno - 1] + first.end_col_offset
        more = f"\n{indent}" if end == start else ""
        start = len(stub[:start].rstrip())
        edits.append((start, end, f"\n{indent}{docstring(text, indent)}{more}"))
    for start, end, new in sorted(edits, reverse=True):
        stub = stub[:start] + new + stub[end:]
    return stub


if __name__ == "__main__":
    STUB.write_text(documented(STUB.read_text(encoding="utf-8")), encoding="utf-8")
