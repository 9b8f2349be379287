"""Transactions: what they see, what conflicts, how they end."""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import pickle
import threading
from typing import Any, Callable, Optional

import pytest

import cairndb
import cairndb.aio


def number(value: Optional[bytes]) -> int:
    return int(value or b"0")


def test_a_block_commits(db: cairndb.Database) -> None:
    db[b"a"] = b"1"
    with db.transaction(durability="sync") as tx:
        tx[b"b"] = b"2"
        del tx[b"a"]
        assert dict(tx) == {b"b": b"2"} and dict(db) == {b"a": b"1"}
        assert b"b" in tx and tx.get(b"a") is None and tx.multi_get([b"a", b"b"]) == [None, b"2"]
        with pytest.raises(KeyError):
            del tx[b"a"]
    assert dict(db) == {b"b": b"2"}
    assert tx.closed and "ended" in repr(tx)


def test_a_block_that_raises_writes_nothing(db: cairndb.Database) -> None:
    with pytest.raises(ZeroDivisionError), db.transaction() as tx:
        tx[b"a"] = b"1"
        raise ZeroDivisionError
    assert not db and tx.closed


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_block_may_end_its_transaction(db: cairndb.Database, end: str) -> None:
    with db.transaction() as tx:
        tx[b"a"] = b"1"
        getattr(tx, end)()
        with pytest.raises(cairndb.ClosedError, match="the transaction has ended"):
            tx[b"b"] = b"2"
        with pytest.raises(ValueError, match="begin another one"):
            tx.get(b"a")
        with pytest.raises(cairndb.ClosedError):
            list(tx)
        tx.rollback()
    assert list(db) == ([b"a"] if end == "commit" else [])
    with pytest.raises(cairndb.ClosedError):
        tx.commit()


@pytest.mark.parametrize("isolation", ["serializable", "snapshot"])
def test_conflicts(db: cairndb.Database, isolation: Any) -> None:
    db.update({b"read": b"1", b"b1": b"1"})

    def conflicts(do: Callable[[cairndb.Transaction], Any], key: bytes) -> bool:
        tx = db.transaction(isolation=isolation)
        do(tx)
        tx[b"result"] = b"x"
        db[key] = b"2"
        try:
            tx.commit()
        except cairndb.ConflictError as error:
            assert error.key == key
            assert "run the transaction again" in str(error)
            assert tx.closed
            return True
        return False

    serializable = isolation == "serializable"
    assert conflicts(lambda tx: tx.get(b"read"), b"read") == serializable
    assert conflicts(lambda tx: tx[b"read"], b"read") == serializable
    assert conflicts(lambda tx: b"absent" in tx, b"absent") == serializable
    assert conflicts(lambda tx: tx.multi_get([b"read"]), b"read") == serializable
    assert conflicts(lambda tx: list(tx.prefix(b"b")), b"b2") == serializable
    assert conflicts(lambda tx: len(tx.range(b"b", b"c")), b"bb") == serializable
    assert conflicts(lambda tx: list(tx.prefix(b"b", reverse=True)), b"b3") == serializable
    assert conflicts(lambda tx: tx.first(), b"0") == serializable
    assert conflicts(lambda tx: tx.get_for_update(b"read"), b"read")

    def own(tx: cairndb.Transaction) -> None:
        tx[b"read"] = b"own"
        assert tx.get_for_update(b"read") == b"own"

    def undone(tx: cairndb.Transaction) -> None:
        mark = tx.savepoint()
        own(tx)
        tx.rollback_to(mark)

    assert conflicts(own, b"read") and conflicts(undone, b"read")
    assert conflicts(lambda tx: (tx.delete(b"read"), tx.get_for_update(b"read")), b"read")
    assert conflicts(lambda tx: tx.put(b"w", b""), b"w") != serializable
    assert not conflicts(lambda tx: list(tx.prefix(b"b")), b"other")
    assert not conflicts(lambda tx: list(tx.range(b"b", b"c", limit=1)), b"b9")
    assert conflicts(lambda tx: list(tx.range(b"b", b"c", limit=1)), b"b0") == serializable


def test_a_conflict_names_its_key_exactly(db: cairndb.Database) -> None:
    every = bytes(range(256))
    keys = [every[start : start + 64] for start in range(0, 256, 32)]
    for key in [*keys, b"", b'"', b"\\x00", b'"... of 70 bytes', bytes(64), bytes(65)]:
        tx = db.transaction()
        tx.get(key)
        tx[b"result"] = db[key] = b""
        with pytest.raises(cairndb.ConflictError) as caught:
            tx.commit()
        assert caught.value.key == key
    assert '"... of 65 bytes' in str(caught.value)


def test_an_iteration_depends_on_what_it_fetched(db: cairndb.Database) -> None:
    """The first step fetches one entry, a later one four times as many as before."""
    db.update({b"%03d" % index: b"" for index in range(100)})
    for taken, near, far in ((1, b"000", b"001"), (2, b"004", b"006"), (6, b"020", b"022")):
        for key, conflict in ((near, True), (far, False)):
            tx = db.transaction()
            scan = iter(tx)
            for _ in range(taken):
                next(scan)
            tx[b"result"] = b""
            db[key] = b"new"
            if conflict:
                with pytest.raises(cairndb.ConflictError):
                    tx.commit()
            else:
                tx.commit()


def test_iterators_see_own_writes_ahead(db: cairndb.Database) -> None:
    db.update({b"%03d" % index: b"old" for index in range(100)})
    with db.transaction() as tx:
        for turn, (key, value) in enumerate(tx.items()):
            if turn == 7:
                assert (key, value) == (b"007", b"old")
                tx[b"007"] = b"passed"
                tx[b"0075"] = b"new"
                tx[b"009"] = b"changed"
                tx.delete(b"010")
                mark = tx.savepoint()
                tx[b"011"] = b"undone"
            elif turn == 9:
                assert (key, value) == (b"008", b"old")
                tx.rollback_to(mark)
            elif turn in (8, 10, 11, 100):
                wanted = {8: b"0075", 10: b"009", 11: b"011", 100: b"1"}
                assert key == wanted[turn]
                assert value == {8: b"new", 10: b"changed", 11: b"old", 100: b"end"}[turn]
            if key == b"099":
                tx[b"1"] = b"end"
        assert turn == 100
        assert len(tx) == len([*tx]) == len([*reversed(tx)]) == 101
        assert [*reversed([*tx.items()])] == [*tx.range(reverse=True)]
        assert tx.range(b"05", b"06", limit=4).keys().take_list(9) == [*tx.prefix(b"05").keys()][:4]
        values = tx.prefix(b"00").values()
        assert next(values) == b"old"
        assert values.count() == 10
        assert [*values] == []
        scan = iter(tx)
        scan.close()
        with pytest.raises(cairndb.ClosedError):
            next(scan)
        tx.rollback()


def test_iterators_of_custom_orders(path: str) -> None:
    def compare(a: bytes, b: bytes) -> int:
        a, b = a.lower(), b.lower()
        return (a > b) - (a < b)

    comparators: list[Any] = [None, ("no case", compare)]
    for comparator in comparators:
        with cairndb.open(path, "n", comparator=comparator) as db:
            db.update({b"k%02d" % index: b"" for index in range(40)})
            db.update({b"j": b"", b"l": b""})
            wanted = [b"k%02d" % index for index in range(60)]
            with db.transaction() as tx:
                for index in range(40, 60):
                    tx[b"k%02d" % index] = b""
                assert [*tx.prefix(b"k").keys()] == wanted
                assert [*tx.prefix(b"k", reverse=True).keys()] == wanted[::-1]
                assert [*tx.prefix(b"k", reverse=True, limit=7).keys()] == wanted[:-8:-1]
    with cairndb.open(path, "n", comparator="reverse") as db:
        db.update({b"%02d" % index: b"" for index in range(0, 40, 2)})
        with db.transaction() as tx:
            tx.update({b"%02d" % index: b"" for index in range(1, 40, 2)})
            assert [*tx] == [b"%02d" % index for index in reversed(range(40))]
            assert [*tx.range(b"20", b"10", reverse=True).keys()] == [
                b"%02d" % index for index in range(11, 21)
            ]


def test_iterators_against_a_model(db: cairndb.Database) -> None:
    """Random writes within iterations in both directions."""
    import random

    seed = int(os.environ.get("CAIRN_SEED") or random.randrange(1 << 32))
    print(f"CAIRN_SEED={seed}")
    dice = random.Random(seed)
    keys = [b"%03d" % index for index in range(300)]
    model = {key: b"0" for key in keys if dice.random() < 0.5}
    db.update(model)
    for _ in range(20):
        with db.transaction() as tx:
            at = b"999" if (reverse := dice.random() < 0.5) else b""
            for key, value in tx.range(reverse=reverse):
                ahead = [k for k in model if (k < at if reverse else k > at)]
                assert key == (max(ahead) if reverse else min(ahead))
                assert model[key] == value
                at = key
                while dice.random() < 0.3:
                    other = dice.choice(keys)
                    if dice.random() < 0.5:
                        tx[other] = model[other] = b"%d" % dice.randrange(1000)
                    else:
                        tx.delete(other)
                        model.pop(other, None)
            assert not [k for k in model if (k < at if reverse else k > at)]
            assert tx == model
        assert db == model


def test_savepoints(db: cairndb.Database) -> None:
    with db.transaction() as tx, db.transaction() as other:
        empty = tx.savepoint()
        tx[b"a"] = b"1"
        one = tx.savepoint()
        tx[b"b"] = b"2"
        tx.rollback_to(one)
        tx.rollback_to(one)
        assert [*tx] == [b"a"]
        tx.rollback_to(empty)
        assert [*tx] == []
        with pytest.raises(cairndb.InvalidArgumentError):
            tx.rollback_to(one)
        with pytest.raises(ValueError):
            other.rollback_to(empty)
        with pytest.raises(TypeError):
            tx.rollback_to(None)  # type: ignore[arg-type]


def test_merges_do_not_conflict(path: str) -> None:
    one = (1).to_bytes(8, "little")
    with cairndb.open(path, merge_operator="add") as db:
        with db.transaction() as tx:
            tx.merge(b"n", one)
            db.merge(b"n", one)
        assert db[b"n"] == (2).to_bytes(8, "little")
    with cairndb.open(path, "n") as db:
        tx = db.transaction()
        with pytest.raises(ValueError, match="merge operator"):
            tx.merge(b"n", one)


def test_ends(db: cairndb.Database) -> None:
    assert db.first() is None and db.last() is None
    assert db.pop_first() is None and db.pop_last() is None
    with pytest.raises(KeyError):
        db.popitem()
    db.update({b"%d" % index: b"v" for index in range(8)})
    with db.snapshot() as snapshot, db.transaction() as tx:
        assert db.pop_first() == (b"0", b"v") and db.pop_last() == (b"7", b"v")
        assert snapshot.first() == tx.first() == (b"0", b"v")
        assert snapshot.last() == tx.last() == (b"7", b"v")
        tx.rollback()
    with db.transaction() as tx:
        assert tx.pop_first() == (b"1", b"v") and tx.pop_last() == (b"6", b"v")
        assert tx.popitem() == (b"2", b"v")
        assert db.first() == (b"1", b"v")
    assert [*db] == [b"3", b"4", b"5"] and db.popitem() == (b"3", b"v")
    with db.transaction() as tx:
        tx.clear()
        assert not tx and tx.pop_first() is None
        with pytest.raises(KeyError):
            tx.popitem()
    assert not db


def test_threads_that_pop_get_different_entries(db: cairndb.Database) -> None:
    db.update({b"%04d" % index: b"" for index in range(2000)})
    popped: list[list[bytes]] = [[] for _ in range(4)]

    def pop(into: list[bytes], last: bool) -> None:
        while (entry := (db.pop_last if last else db.pop_first)()) is not None:
            into.append(entry[0])

    threads = [
        threading.Thread(target=pop, args=(into, index % 2 == 1))
        for index, into in enumerate(popped)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [key for keys in popped for key in keys]
    assert len(found) == len(set(found)) == 2000
    assert popped[0] == sorted(popped[0]) and popped[1] == sorted(popped[1], reverse=True)


def test_compare_and_set(db: cairndb.Database) -> None:
    assert db.compare_and_set(b"k", None, b"1")
    assert not db.compare_and_set(b"k", None, b"2")
    assert not db.compare_and_set(b"k", b"2", b"3")
    assert db.compare_and_set(bytearray(b"k"), memoryview(b"1"), b"")
    assert db[b"k"] == b"" and db.compare_and_set(b"k", b"", None) and b"k" not in db
    with pytest.raises(TypeError, match=r"pass text.encode\(\)"):
        db.compare_and_set(b"k", None, "text")  # type: ignore[arg-type]


def test_transact(db: cairndb.Database) -> None:
    """Threads that increment one counter lose no increment."""

    def increment(tx: cairndb.Transaction) -> int:
        value = number(tx.get(b"n")) + 1
        tx[b"n"] = b"%d" % value
        return value

    results: list[int] = []

    def work(index: int) -> None:
        durability: Any = "sync" if index == 0 else None
        for _ in range(20 if index == 0 else 200):
            results.append(db.transact(increment, durability=durability))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert db[b"n"] == b"620" and sorted(results) == [*range(1, 621)]


def test_transact_gives_up_and_passes_errors_on(db: cairndb.Database) -> None:
    calls = 0

    def disturbed(tx: cairndb.Transaction) -> None:
        nonlocal calls
        calls += 1
        tx.get(b"k")
        tx[b"result"] = b"1"
        db[b"k"] = b"%d" % calls

    with pytest.raises(cairndb.ConflictError) as caught:
        db.transact(disturbed, retries=3)
    assert calls == 4 and b"result" not in db and caught.value.key == b"k"

    def fails(tx: cairndb.Transaction) -> None:
        tx[b"result"] = b"1"
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        db.transact(fails)
    assert b"result" not in db
    with pytest.raises(cairndb.ConflictError):
        db.transact(disturbed, retries=0)
    assert calls == 5
    db.transact(disturbed, retries=0, isolation="snapshot")
    assert db[b"result"] == b"1"


def test_bad_arguments(db: cairndb.Database) -> None:
    with pytest.raises(ValueError, match="'serializable' or 'snapshot', not 'none'"):
        db.transaction(isolation="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="durability is"):
        db.transaction(durability="disk")  # type: ignore[arg-type]
    with db.transaction() as tx:
        with pytest.raises(TypeError, match=r"pass text.encode\(\)"):
            tx["k"] = b"v"  # type: ignore[index]
        with pytest.raises(TypeError, match=r"pass text.encode\(\)"):
            tx.get_for_update("k")  # type: ignore[call-overload]
        with pytest.raises(cairndb.InvalidArgumentError):
            tx[bytes((64 << 20) + 1)] = b""
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError):
                make(tx)
        tx[b"k"] = b"v"
    assert dict(db) == {b"k": b"v"}


def test_views_and_defaults(db: cairndb.Database) -> None:
    large = os.urandom(100_000)
    db[b"large"] = large
    with db.transaction() as tx:
        view = tx.get_view(b"large")
        tx[b"own"] = large[::-1]
        assert view == large and tx.get_view(b"own") == large[::-1]
        assert tx.get(b"x", 7) == 7 and tx.get_view(b"x") is None
        assert tx.get_for_update(b"x") is None and tx.get_for_update(b"x", b"d") == b"d"
        assert tx.setdefault(b"x", b"1") == b"1" and tx.pop(b"x") == b"1"
        tx.update({b"y": b"2"})
        assert tx.path == db.path
    assert db[b"own"] == large[::-1] and db[b"y"] == b"2" and view == large


def test_after_close(path: str) -> None:
    db = cairndb.open(path)
    db[b"a"] = b"1"
    tx = db.transaction()
    scan = iter(tx)
    tx[b"b"] = b"2"
    db.close()
    reads = (lambda: tx[b"a"], lambda: tx[b"b"], lambda: tx.get(b"b"), lambda: tx.multi_get([b"b"]))
    for call in (tx.commit, *reads, tx.first, lambda: next(scan), lambda: tx.put(b"c", b"")):
        with pytest.raises(cairndb.ClosedError):
            call()
    with pytest.raises(cairndb.ClosedError):
        db.transaction()
    tx.rollback()
    with pytest.raises(ZeroDivisionError), cairndb.open(path) as again, again.transaction() as last:
        last[b"c"] = b"3"
        again.close()
        raise ZeroDivisionError
    gc.collect()
    with cairndb.open(path) as db:
        assert [*db] == [b"a"]


def test_a_read_only_database(path: str) -> None:
    with cairndb.open(path) as db:
        db[b"a"] = b"1"
    with cairndb.open(path, "r") as db:
        with db.transaction() as tx:
            assert tx[b"a"] == b"1"
        with pytest.raises(cairndb.ReadOnlyError), db.transaction() as tx:
            tx[b"b"] = b"2"
        with pytest.raises(PermissionError):
            db.pop_first()


def test_a_forked_child_cannot_use_it(db: cairndb.Database) -> None:
    db[b"a"] = b"1"
    tx = db.transaction()
    scan = iter(tx)
    child = os.fork()
    if child == 0:
        wrong = 0
        calls: list[Callable[[], Any]] = [
            lambda: tx[b"a"],
            lambda: tx.put(b"b", b""),
            lambda: next(scan),
            tx.commit,
            lambda: db.transact(lambda tx: None),
        ]
        for call in calls:
            try:
                call()
                wrong += 1
            except cairndb.ForkedError:
                pass
            except BaseException:
                wrong += 1
        tx.rollback()
        del tx, scan
        gc.collect()
        os._exit(wrong)
    assert os.waitpid(child, 0)[1] == 0
    tx[b"b"] = b"2"
    tx.commit()
    assert [*db] == [b"a", b"b"]


def test_a_merge_operator_cannot_use_the_transaction_that_calls_it(path: str) -> None:
    refused: list[str] = []
    calls: list[Callable[[], Any]] = []

    def join(key: bytes, value: Optional[bytes], operands: list[bytes]) -> bytes:
        if threading.current_thread() is reader:
            for call in calls:
                with pytest.raises(cairndb.InvalidArgumentError) as raised:
                    call()
                refused.append(str(raised.value))
            assert db[b"a"] == b"1"
        return b"".join([value or b"", *operands])

    with cairndb.open(path, merge_operator=("join", join)) as db:
        db[b"a"] = b"1"
        tx = db.transaction()
        tx.merge(b"n", b"x")
        calls += [
            lambda: tx[b"a"],
            lambda: tx.put(b"a", b"2"),
            lambda: [*tx.items()],
            tx.commit,
            tx.rollback,
        ]
        read: list[Any] = []

        def reads() -> None:
            read.append(tx[b"n"])
            read.append([*tx.items()])

        # A thread of its own: once, the read waited for itself for ever.
        reader = threading.Thread(target=reads, daemon=True)
        reader.start()
        reader.join(60)
        assert not reader.is_alive()
        assert read == [b"x", [(b"a", b"1"), (b"n", b"x")]]
        assert len(refused) >= 2 * len(calls)
        assert all("in use by a call that has called this code" in text for text in refused)
        tx.commit()
        assert db[b"n"] == b"x"


def test_aio(path: str) -> None:
    def increment(tx: cairndb.Transaction) -> int:
        value = number(tx.get(b"n")) + 1
        tx[b"n"] = b"%d" % value
        return value

    async def main() -> None:
        async with cairndb.aio.open(path) as db:
            results = await asyncio.gather(*(db.transact(increment) for _ in range(50)))
            assert sorted(results) == [*range(1, 51)] and await db.get(b"n") == b"50"
            assert await db.compare_and_set(b"n", b"50", None)
            await db.update({b"a": b"1", b"b": b"2", b"c": b"3"})
            assert await db.first() == (b"a", b"1") and await db.last() == (b"c", b"3")
            assert await db.estimate_count(b"b") >= 2
            assert await db.pop_first() == (b"a", b"1") and await db.pop_last() == (b"c", b"3")

            async def coroutine(tx: cairndb.Transaction) -> None:
                pass

            with pytest.raises(TypeError, match="plain function"):
                await db.transact(coroutine)
            # A cancelled call commits in full or not at all.
            task = asyncio.create_task(db.transact(increment))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await db.sync()
            assert await db.get(b"n") in (None, b"1")

    asyncio.run(main())
