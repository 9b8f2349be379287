'use strict'

// Memory stays the same over many cycles of everything that holds native memory.

const { test } = require('node:test')
const assert = require('node:assert')
const { Level } = require('@cairndb/level')
const { freshPath, size } = require('./support')

const CYCLES = size('CAIRN_NODE_CYCLES', 3000)
/** Growth of the resident memory that is no leak: memtables fill up, and V8's heap breathes. */
const SLACK = 24 << 20

async function cycle (db, i) {
  const key = `k${i % 1000}`
  const snapshot = db.snapshot()
  const iterator = db.iterator({ gte: key, limit: 10, valueEncoding: 'buffer' })
  await iterator.next()
  if (i % 3 !== 0) await iterator.nextv(5)
  if (i % 2 === 0) await iterator.close()
  const batch = db.batch().put(key, 'v'.repeat(200)).del('absent')
  if (i % 4 !== 0) await batch.write()
  await db.getMany([key, 'absent'], { snapshot })
  await db.get(key, { valueEncoding: 'buffer' })
  if (i % 50 === 0) await db.put('large', 'x'.repeat(100000), { sync: i % 500 === 0 })
  await snapshot.close()
  // Iterators and batches that were not closed are closed by the database, which refers to them.
  if (i % 500 === 499) {
    await db.close()
    await db.open()
  }
}

test('cycles leave no memory', async () => {
  const db = new Level(freshPath(), { memory: 1 << 20 })
  await db.open()
  for (let i = 0; i < CYCLES / 2; i++) await cycle(db, i)
  global.gc()
  const before = process.memoryUsage().rss
  for (let i = 0; i < CYCLES; i++) await cycle(db, i)
  global.gc()
  const grown = process.memoryUsage().rss - before
  assert.ok(grown < SLACK, `${CYCLES} cycles grew the memory by ${grown} bytes`)
  await db.close()
})

test('objects that are dropped without being closed are freed', async () => {
  const db = new Level(freshPath())
  await db.batch(Array.from({ length: 1000 }, (_, i) => ({ type: 'put', key: `k${i}`, value: 'v'.repeat(100) })))
  let collected = 0
  const registry = new FinalizationRegistry(() => collected++)
  for (let i = 0; i < 200; i++) {
    const iterator = db.iterator()
    await iterator.next()
    registry.register(iterator, i)
    db.detachResource(iterator)
  }
  for (let i = 0; i < 100 && collected === 0; i++) {
    global.gc()
    await new Promise(resolve => setImmediate(resolve))
  }
  assert.ok(collected > 0)
  await db.close()
})
