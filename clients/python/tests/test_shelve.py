"""The standard library's tests of `shelve`, with CairnDB where it has a `dbm`."""

from __future__ import annotations

import dbm
import os
import pickle
import shelve
import tempfile
import types
import unittest
from typing import Any

import pytest

import cairndb

test_shelve = pytest.importorskip("test.test_shelve", reason="this Python has no test.test_shelve")
mapping_tests = pytest.importorskip("test.mapping_tests")

adapter: Any = types.ModuleType("dbm.cairndb")
adapter.error = cairndb.Error
adapter.open = lambda file, flag="r", mode=0o666: cairndb.open(file, flag)


class InDirectory:
    """Runs each test in an empty directory, with CairnDB as the module that `dbm` opens."""

    addCleanup: Any

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(directory.name)
        super().setUp()  # type: ignore[misc]
        self.addCleanup(setattr, dbm, "_defaultmod", getattr(dbm, "_defaultmod", None))
        dbm._defaultmod = adapter  # type: ignore[attr-defined]


class TestCases(InDirectory, test_shelve.TestCase):
    """The cases of `test_shelve`, of which those that open a file open a database."""

    def test_the_file_is_a_database(self) -> None:
        with shelve.open("shelf") as shelf:
            assert isinstance(shelf.dict, cairndb.Database)
            shelf["key"] = [1, 2]
        with shelve.Shelf(cairndb.open("shelf", "r")) as shelf:
            assert shelf["key"] == [1, 2]

    def test_writeback(self) -> None:
        with shelve.Shelf(cairndb.open("shelf"), writeback=True) as shelf:
            shelf["key"] = [1]
            shelf["key"].append(2)
        with shelve.Shelf(cairndb.open("shelf")) as shelf:
            assert shelf["key"] == [1, 2]
            shelf["key"].append(3)
            assert shelf["key"] == [1, 2]

    def test_keyencoding(self) -> None:
        super().test_keyencoding()
        with cairndb.open("shelf") as db:
            key = "Pöp"
            # Kept: a shelf that is collected closes its database.
            shelves = [shelve.Shelf(db), shelve.Shelf(db, keyencoding="latin-1")]
            for shelf in shelves:
                shelf[key] = [1]
            assert [*db] == sorted([key.encode("utf-8"), key.encode("latin-1")])


def _protocol_class(protocol: int) -> type[unittest.TestCase]:
    class TestProtocol(InDirectory, mapping_tests.BasicTestMappingProtocol):  # type: ignore[misc]
        """The mapping protocol of a shelf of one protocol of `pickle`."""

        type2test = shelve.Shelf
        _counter = 0

        def _reference(self) -> dict[str, Any]:
            return {"key1": "value1", "key2": 2, "key3": (1, 2, 3)}

        def _empty_mapping(self) -> shelve.Shelf[Any]:
            self._counter += 1
            shelf = shelve.open(f"shelf{self._counter}", protocol=protocol)
            self.addCleanup(shelf.close)
            return shelf

    TestProtocol.__name__ = TestProtocol.__qualname__ = f"TestProtocol{protocol}"
    return TestProtocol


for _protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    globals()[f"TestProtocol{_protocol}"] = _protocol_class(_protocol)
