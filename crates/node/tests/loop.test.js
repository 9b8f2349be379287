'use strict'

// The event loop goes on during loops of every operation, also those that are done at once.
//
// Time is no measure here, because the machine may be busy. What counts is how many turns the loop
// makes. `bench/gaps.mjs` measures how long it is held up.

const { test } = require('node:test')
const assert = require('node:assert')
const { Level } = require('@cairndb/level')
const { freshPath } = require('./support')

/** Runs `body` and returns how often the event loop turned meanwhile. */
async function turnsOf (body) {
  let turns = 0
  let immediate
  const turn = () => {
    turns++
    immediate = setImmediate(turn)
  }
  immediate = setImmediate(turn)
  await body()
  clearImmediate(immediate)
  return turns
}

async function filled (count) {
  const db = new Level(freshPath())
  await db.batch(Array.from({ length: count }, (_, i) => ({ type: 'put', key: `k${i}`, value: 'v'.repeat(50) })))
  return db
}

const COUNT = 10000

const LOOPS = {
  gets: async db => { for (let i = 0; i < COUNT; i++) await db.get(`k${i}`) },
  has: async db => { for (let i = 0; i < COUNT; i++) await db.has(`k${i}`) },
  puts: async db => { for (let i = 0; i < COUNT; i++) await db.put(`k${i}`, 'w') },
  deletions: async db => { for (let i = 0; i < COUNT; i++) await db.del(`k${i}`) },
  'gets at once': db => Promise.all(Array.from({ length: COUNT }, (_, i) => db.get(`k${i}`))),
  'puts at once': db => Promise.all(Array.from({ length: COUNT }, (_, i) => db.put(`k${i}`, 'w'))),
  'gets of several loops': db => Promise.all([0, 1, 2, 3].map(async first => {
    for (let i = first; i < COUNT; i += 4) await db.get(`k${i}`)
  })),
  entries: async db => {
    let count = 0
    // eslint-disable-next-line no-unused-vars
    for await (const entry of db.iterator()) count++
    assert.strictEqual(count, COUNT)
  },
  iterators: async db => { for (let i = 0; i < COUNT / 10; i++) await db.iterator({ limit: 20 }).all() }
}

for (const [name, loop] of Object.entries(LOOPS)) {
  test(`the event loop turns during ${name}`, async () => {
    const db = await filled(COUNT)
    const turns = await turnsOf(() => loop(db))
    const least = name === 'iterators' ? 1 : 10
    assert.ok(turns >= least, `${turns} turns`)
    await db.close()
  })
}

test('all results of operations that waited for a turn are right', async () => {
  const db = await filled(COUNT)
  const keys = Array.from({ length: COUNT }, (_, i) => `k${i}`)
  const values = await Promise.all(keys.map(key => db.get(key)))
  assert.ok(values.every(value => value === 'v'.repeat(50)))
  const puts = keys.map(key => db.put(key, key))
  const close = db.close()
  await Promise.all(puts)
  await close
  await db.open()
  assert.deepStrictEqual(await db.getMany(keys), keys)
  await db.close()
})

test('a database that existed is read on the thread pool at first, and then at once', async () => {
  const db = await filled(COUNT)
  await db.close()
  await db.open()
  const pooled = await turnsOf(() => db.get('k1'))
  assert.ok(pooled > 0, 'the first read was done at once')
  for (let i = 0; i < 100; i++) await db.get(`k${i}`)
  let settled = false
  db.get('k2').then(() => { settled = true })
  // Microtasks only.
  for (let i = 0; i < 20; i++) await undefined
  assert.ok(settled, 'a read in memory took a turn of the event loop')
  await db.close()
})
