'use strict'

// `clear` deletes what was written before its call, and nothing that is written after it.

const { test } = require('node:test')
const assert = require('node:assert')
const { Level } = require('@cairndb/level')
const { freshPath } = require('./support')

/** More operations than one turn of the event loop has. */
const MANY = 2000

async function withLevel (body) {
  const db = new Level(freshPath())
  await db.open()
  await body(db)
  await db.close()
}

test('a clear of all that is in a range is one write', async () => {
  await withLevel(async db => {
    const writes = () => JSON.parse(db.getProperty('cairndb.stats')).last_seq
    const keyspace = await db.createKeyspace('keyspace')
    const { signal } = new AbortController()
    for (const place of [db, keyspace, db.sublevel('sublevel')]) {
      const fill = async () => {
        const operations = Array.from({ length: MANY }, (_, i) => ({ type: 'put', key: `k${i}`, value: '' }))
        await place.batch([...operations, { type: 'put', key: 'é', value: '' }])
      }
      const left = async options => {
        await fill()
        const before = writes()
        await place.clear(options)
        return [writes() - before, (await place.keys().all()).length]
      }
      assert.deepStrictEqual(await left(), [1, 0])
      assert.deepStrictEqual(await left({ gt: 'k0', lte: 'k1' }), [1, MANY])
      assert.deepStrictEqual(await left({ gte: 'k0', lt: 'k1', reverse: true }), [1, MANY])
      assert.deepStrictEqual(await left({ gt: 'k', lt: 'l', signal }), [1, 1])
      assert.deepStrictEqual(await left({ gt: Buffer.from('k'), keyEncoding: 'buffer' }), [1, 0])
      assert.strictEqual((await left({ gt: 'k1', lt: 'k1' }))[1], MANY + 1)
      assert.deepStrictEqual(await left({ limit: 3 }), [3, MANY - 2])
      await fill()
      const snapshot = db.snapshot()
      assert.deepStrictEqual(await left({ snapshot }), [MANY + 1, 0])
      await snapshot.close()
    }
  })
})

test('a write that is called after clear stays', async () => {
  await withLevel(async db => {
    await db.batch([{ type: 'put', key: 'k', value: 'old' }, { type: 'put', key: 'old', value: '' }])
    const cleared = db.clear()
    await db.put('k', 'new')
    await db.batch([{ type: 'put', key: 'in a batch', value: 'new' }])
    await cleared
    assert.deepStrictEqual(await db.iterator().all(), [['in a batch', 'new'], ['k', 'new']])
  })
})

test('so does one of a key that the snapshot of clear holds', async () => {
  await withLevel(async db => {
    await db.batch([{ type: 'put', key: 'a', value: 'old' }, { type: 'put', key: 'b', value: 'old' }])
    const snapshot = db.snapshot()
    const cleared = db.clear({ snapshot })
    await db.put('a', 'new')
    await cleared
    await snapshot.close()
    assert.deepStrictEqual(await db.iterator().all(), [['a', 'new']])
  })
})

test('writes that still wait when clear is called are deleted', async () => {
  await withLevel(async db => {
    // The first one waits for the disk, and those after it for their turn.
    const before = [db.put('a', '1', { sync: true }), db.put('b', '1'), db.put('c', '1', { sync: true })]
    const cleared = [db.clear({ lt: 'b' }), db.clear({ gte: 'b' })]
    const after = [db.put('b', '2'), db.put('d', '2', { sync: true })]
    await Promise.all([...before, ...cleared, ...after])
    assert.deepStrictEqual(await db.iterator().all(), [['b', '2'], ['d', '2']])
  })
})

test('clear keeps its place among operations that wait for a turn of the event loop', async () => {
  await withLevel(async db => {
    const calls = []
    const upper = Buffer.from('k2')
    for (let i = 0; i < MANY; i++) calls.push(db.put(`k1 ${i}`, 'before'))
    calls.push(db.clear({ lt: upper, keyEncoding: 'buffer' }))
    // The caller may use its buffer again.
    upper.fill(0)
    for (let i = 0; i < 3; i++) calls.push(db.put(`k1 ${i}`, 'after'))
    await Promise.all(calls)
    assert.deepStrictEqual(await db.iterator().all(), [['k1 0', 'after'], ['k1 1', 'after'], ['k1 2', 'after']])
  })
})

test('a close waits for a clear and what follows it', async () => {
  await withLevel(async db => {
    const calls = []
    for (let i = 0; i < MANY; i++) calls.push(db.put(`k${i}`, 'before'))
    calls.push(db.clear(), db.put('k', 'after'), db.close())
    await Promise.all(calls)
    await db.open()
    assert.deepStrictEqual(await db.iterator().all(), [['k', 'after']])
  })
})
