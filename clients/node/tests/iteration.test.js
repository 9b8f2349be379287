'use strict'

// Loops over iterators: they take whole chunks, and must behave as if they took one entry at a time.

const { test } = require('node:test')
const assert = require('node:assert')
const { Level } = require('@cairndb/level')
const { freshPath } = require('./support')

const key = i => String(i).padStart(4, '0')

async function withEntries (count, body) {
  const db = new Level(freshPath())
  await db.batch(Array.from({ length: count }, (_, i) => ({ type: 'put', key: key(i), value: `v${i}` })))
  try {
    await body(db)
  } finally {
    await db.close()
  }
}

test('a loop reads all entries, keys and values, in both directions', async () => {
  await withEntries(2500, async db => {
    for (const reverse of [false, true]) {
      const numbers = Array.from({ length: 2500 }, (_, i) => reverse ? 2499 - i : i)
      for (const highWaterMarkBytes of [0, 100, undefined, 1 << 20]) {
        const options = { reverse, highWaterMarkBytes }
        const found = { iterator: [], keys: [], values: [] }
        for (const kind in found) for await (const item of db[kind](options)) found[kind].push(item)
        assert.deepStrictEqual(found.keys, numbers.map(key))
        assert.deepStrictEqual(found.values, numbers.map(i => `v${i}`))
        assert.deepStrictEqual(found.iterator, numbers.map(i => [key(i), `v${i}`]))
      }
    }
  })
})

test('a loop counts what it has returned, up to the limit', async () => {
  await withEntries(100, async db => {
    for (const limit of [0, 1, 31, 32, 33, 99, 100, 101]) {
      const iterator = db.keys({ limit })
      assert.strictEqual(iterator.limit, limit)
      let count = 0
      for await (const found of iterator) {
        assert.strictEqual(found, key(count++))
        assert.strictEqual(iterator.count, count)
      }
      assert.strictEqual(count, Math.min(limit, 100))
    }
  })
})

test('reads in the body of a loop go on where the loop is', async () => {
  await withEntries(100, async db => {
    const iterator = db.keys()
    const found = []
    for await (const item of iterator) {
      found.push(item)
      if (item === key(3)) found.push(await iterator.next())
      if (item === key(10)) found.push(...await iterator.nextv(5))
      if (item === key(50)) found.push(await iterator.next(), await iterator.next())
    }
    assert.deepStrictEqual(found, Array.from({ length: 100 }, (_, i) => key(i)))
    const rest = []
    for await (const item of db.keys({ lt: key(5) })) rest.push(item)
    assert.strictEqual(rest.length, 5)
    const all = db.keys({ limit: 60 })
    // eslint-disable-next-line no-unreachable-loop
    for await (const item of all) {
      assert.strictEqual(item, key(0))
      assert.strictEqual((await all.all()).length, 59)
      break
    }
  })
})

test('a seek in the body of a loop moves the loop, and skipped entries do not count', async () => {
  await withEntries(100, async db => {
    const iterator = db.keys({ limit: 5 })
    const found = []
    for await (const item of iterator) {
      found.push(item)
      if (item === key(1)) iterator.seek(key(40))
      if (item === key(41)) iterator.seek(key(2))
    }
    assert.deepStrictEqual(found, [0, 1, 40, 41, 2].map(key))
  })
})

test('a loop that ends early closes its iterator, and a closed iterator ends a loop', async () => {
  await withEntries(100, async db => {
    const iterator = db.keys()
    // eslint-disable-next-line no-unreachable-loop
    for await (const item of iterator) {
      assert.strictEqual(item, key(0))
      break
    }
    await assert.rejects(iterator.next(), { code: 'LEVEL_ITERATOR_NOT_OPEN' })
    await assert.rejects(async () => {
      for await (const item of db.keys()) throw new Error(`as planned, at ${item}`)
    }, /as planned, at 0000/)
    const closed = db.keys()
    await assert.rejects(async () => {
      for await (const item of closed) {
        assert.strictEqual(item, key(0))
        await closed.close()
      }
    }, { code: 'LEVEL_ITERATOR_NOT_OPEN' })
    const controller = new AbortController()
    await assert.rejects(async () => {
      for await (const item of db.keys({ signal: controller.signal })) {
        assert.strictEqual(item, key(0))
        controller.abort()
      }
    }, { name: 'AbortError', code: 'LEVEL_ABORTED' })
  })
})

test('short Buffers of gets are apart, and cannot be transferred with their neighbours', async () => {
  await withEntries(1000, async db => {
    const get = i => i % 2 === 0 ? db.get(key(i), { valueEncoding: 'buffer' }) : db.getSync(key(i), { valueEncoding: 'buffer' })
    const found = []
    for (let i = 0; i < 1000; i++) found.push(await get(i))
    found.forEach((value, i) => assert.strictEqual(value.toString(), `v${i}`))
    found[10].fill(0)
    assert.strictEqual(found[9].toString(), 'v9')
    assert.strictEqual(found[11].toString(), 'v11')
    const entries = await db.iterator({ valueEncoding: 'view', limit: 10 }).all()
    for (const memory of [found[3].buffer, entries[3][1].buffer]) {
      try {
        structuredClone(memory, { transfer: [memory] })
      } catch (err) {
        assert.strictEqual(err.name, 'DataCloneError')
      }
      assert.ok(memory.byteLength > 0)
    }
  })
})

test('a closed iterator has nothing in common with those made after it', async () => {
  await withEntries(100, async db => {
    for (const last of ['next', 'nextv', 'all', 'seek', 'abort']) {
      const abort = new AbortController()
      const closed = db.iterator({ signal: abort.signal, gte: key(10), reverse: true })
      assert.deepStrictEqual(await closed.next(), [key(99), 'v99'])
      await closed.close()
      const keys = db.keys({ gte: key(50), lt: key(60), keyEncoding: 'buffer' })
      const values = db.values({ limit: 3 })
      assert.deepStrictEqual(await keys.next(), Buffer.from(key(50)))
      if (last === 'abort') abort.abort()
      else if (last === 'seek') closed.seek(key(70))
      else await assert.rejects(closed[last](1), { code: 'LEVEL_ITERATOR_NOT_OPEN' })
      await closed.close()
      assert.deepStrictEqual(await values.all(), ['v0', 'v1', 'v2'])
      assert.deepStrictEqual((await keys.all()).map(String), Array.from({ length: 9 }, (_, i) => key(51 + i)))
    }
  })
})

test('iterators of which more are open than are kept, closed in another order', async () => {
  await withEntries(100, async db => {
    for (let round = 0; round < 3; round++) {
      const open = Array.from({ length: 40 }, (_, i) => db.keys({ gte: key(i), limit: 2 }))
      for (let i = 0; i < 40; i += 2) await open[i].close()
      const more = Array.from({ length: 40 }, (_, i) => db.values({ gte: key(i), limit: 2 }))
      for (let i = 1; i < 40; i += 2) assert.deepStrictEqual(await open[i].all(), [key(i), key(i + 1)])
      for (const [i, values] of more.entries()) assert.deepStrictEqual(await values.all(), [`v${i}`, `v${i + 1}`])
    }
  })
})

test('a loop called by hand is a generator: calls wait for those before, and its end is final', async () => {
  await withEntries(3, async db => {
    const end = { value: undefined, done: true }
    let loop = db.keys()[Symbol.asyncIterator]()
    const results = await Promise.all(Array.from({ length: 5 }, () => loop.next()))
    assert.deepStrictEqual(results.map(result => result.value), [key(0), key(1), key(2), undefined, undefined])
    assert.deepStrictEqual(await loop.next(), end)

    loop = db.keys()[Symbol.asyncIterator]()
    const [first, returned, after] = await Promise.all([loop.next(), loop.return('x'), loop.next()])
    assert.deepStrictEqual([first.value, returned, after], [key(0), { value: 'x', done: true }, end])

    loop = db.keys()[Symbol.asyncIterator]()
    await assert.rejects(loop.throw(new Error('mine')), /mine/)
    assert.deepStrictEqual(await loop.next(), end)

    const controller = new AbortController()
    loop = db.keys({ signal: controller.signal })[Symbol.asyncIterator]()
    controller.abort()
    await assert.rejects(loop.next(), { code: 'LEVEL_ABORTED' })
    assert.deepStrictEqual(await loop.next(), end)
  })
})

test('an aborted iterator returns nothing more in the body of a loop', async () => {
  await withEntries(100, async db => {
    const controller = new AbortController()
    const iterator = db.keys({ signal: controller.signal })
    await assert.rejects(async () => {
      // eslint-disable-next-line no-unused-vars
      for await (const item of iterator) {
        controller.abort()
        await assert.rejects(iterator.next(), { code: 'LEVEL_ABORTED' })
        await assert.rejects(iterator.nextv(5), { code: 'LEVEL_ABORTED' })
      }
    }, { code: 'LEVEL_ABORTED' })
  })
})

test('nextv takes any size', async () => {
  await withEntries(3, async db => {
    for (const size of [2 ** 32, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
      const iterator = db.keys()
      assert.strictEqual((await iterator.nextv(size)).length, 3)
      await iterator.close()
    }
  })
})

test('an iterator that is refused does not keep the database from closing', async () => {
  const wrong = { name: 'wrong', format: 'buffer', encode: key => key, decode: key => key }
  await withEntries(3, async db => {
    for (const kind of ['iterator', 'keys', 'values']) {
      assert.throws(() => db[kind]({ gte: 'no buffer', keyEncoding: wrong }), TypeError)
    }
    await db.close()
  })
})
