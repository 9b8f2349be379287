"""The standard library's tests of mappings, with bytes, directly and through `shelve`."""

from __future__ import annotations

import itertools
import os
import shelve
import tempfile
import unittest
from typing import Any

import pytest

import cairndb

mapping_tests = pytest.importorskip(
    "test.mapping_tests", reason="this Python has no test.mapping_tests"
)


class _Directories(unittest.TestCase):
    """Makes each database of a test in a directory of its own."""

    def setUp(self) -> None:
        super().setUp()
        self._directory = tempfile.TemporaryDirectory()
        self.addCleanup(self._directory.cleanup)
        self._numbers = itertools.count()

    def new_path(self) -> str:
        return os.path.join(self._directory.name, str(next(self._numbers)))


class TestDatabase(_Directories, mapping_tests.BasicTestMappingProtocol):
    """A database has the mapping protocol."""

    type2test = cairndb.Database

    def _reference(self) -> dict[bytes, bytes]:
        return {b"1": b"2", b"key1": b"value1", b"key2": b"value2"}

    def _empty_mapping(self) -> cairndb.Database:
        db = cairndb.open(self.new_path())
        self.addCleanup(db.close)
        return db

    def _full_mapping(self, data: Any) -> cairndb.Database:
        db = self._empty_mapping()
        db.update(data)
        return db


class TestShelf(_Directories, mapping_tests.BasicTestMappingProtocol):
    """A shelf over a database has it, too."""

    type2test = shelve.Shelf

    def _reference(self) -> dict[str, Any]:
        return {"key1": "value1", "key2": 2, "key3": (1, 2, 3)}

    def _empty_mapping(self) -> shelve.Shelf[Any]:
        shelf: shelve.Shelf[Any] = shelve.Shelf(cairndb.open(self.new_path()))
        self.addCleanup(shelf.close)
        return shelf

    def _full_mapping(self, data: Any) -> shelve.Shelf[Any]:
        shelf = self._empty_mapping()
        shelf.update(data)
        return shelf


# Only the classes above are collected, not the base that they derive from.
del _Directories
