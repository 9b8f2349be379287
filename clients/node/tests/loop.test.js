'use strict'

// The event loop goes on during loops of every operation, also those that are done at once.
//
// Real time is no measure here, because the machine may be busy. The clock that the package reads
// is replaced by one that goes on each time it is read, so that the number of turns depends on the
// work alone. `bench/gaps.mjs` measures how long the loop is held up.

const { test } = require('node:test')
const assert = require('node:assert')
const { Level } = require('@cairndb/level')
const { freshPath } = require('./support')

/** Milliseconds from one look at the clock to the next: four fill a turn. */
const LOOK_MS = 0.125

/** Runs `body` and returns how often the event loop turned meanwhile. */
async function turnsOf (body) {
  const real = performance.now
  let now = 0
  performance.now = () => (now += LOOK_MS)
  let turns = 0
  let immediate
  const turn = () => {
    turns++
    immediate = setImmediate(turn)
  }
  immediate = setImmediate(turn)
  try {
    await body()
  } finally {
    performance.now = real
    clearImmediate(immediate)
  }
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
  'short scans': async db => {
    for (let i = 0; i < COUNT / 100; i++) await db.iterator({ limit: 100 }).all()
  },
  'entries at once': async db => {
    for (let i = 0; i < 10; i++) assert.strictEqual((await db.iterator().all()).length, COUNT)
  },
  'getMany of 100': async db => {
    for (let i = 0; i < COUNT; i += 100) await db.getMany(some(i, 100))
  },
  'hasMany at once': db => {
    return Promise.all(Array.from({ length: COUNT / 100 }, (_, i) => db.hasMany(some(i * 100, 100))))
  },
  'batches of 100': async db => {
    for (let i = 0; i < COUNT; i += 100) await db.batch(some(i, 100).map(key => ({ type: 'del', key })))
  },
  'chained batches of 100': async db => {
    for (let i = 0; i < COUNT; i += 100) {
      const batch = db.batch()
      for (const key of some(i, 100)) batch.put(key, 'w')
      await batch.write()
    }
  },
  'large values': async db => {
    const value = 'v'.repeat(1 << 20)
    for (let i = 0; i < 20; i++) await db.put(`large${i % 4}`, value)
    for (let i = 0; i < 40; i++) assert.strictEqual(await db.get(`large${i % 4}`), value)
  }
}

/** Returns `count` keys that exist. */
function some (first, count) {
  return Array.from({ length: count }, (_, i) => `k${first + i}`)
}

for (const [name, loop] of Object.entries(LOOPS)) {
  test(`the event loop turns during ${name}`, async () => {
    const db = await filled(COUNT)
    const turns = await turnsOf(() => loop(db))
    assert.ok(turns >= 20, `${turns} turns`)
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

test('operations go on where a program has replaced the timers', async () => {
  const db = await filled(COUNT)
  const real = globalThis.setImmediate
  globalThis.setImmediate = () => {}
  try {
    for (let i = 0; i < COUNT; i++) assert.strictEqual(await db.get(`k${i}`), 'v'.repeat(50))
  } finally {
    globalThis.setImmediate = real
  }
  await db.close()
})

test('what waits for a turn is not copied for each turn', async () => {
  const db = await filled(1)
  const real = Array.prototype.slice
  let copied = 0
  // eslint-disable-next-line no-extend-native
  Array.prototype.slice = function (...range) {
    const part = real.apply(this, range)
    copied += part.length
    return part
  }
  try {
    await turnsOf(() => Promise.all(Array.from({ length: 10 * COUNT }, () => db.get('k0'))))
  } finally {
    // eslint-disable-next-line no-extend-native
    Array.prototype.slice = real
  }
  assert.ok(copied <= 20 * COUNT, `${copied} copies of ${10 * COUNT} operations`)
  await db.close()
})

test('a key may be changed while its operation waits for a turn', async () => {
  const db = new Level(freshPath(), { keyEncoding: 'buffer' })
  const [key, other] = [Buffer.from('key'), Buffer.from('other')]
  await db.put(key, 'value')
  await turnsOf(async () => {
    const reads = []
    for (let i = 0; i < COUNT; i++) reads.push(db.get(other))
    const given = Buffer.from(key)
    const found = [db.get(given), db.has(given), db.getMany([given]), db.hasMany([given]), db.put(given, 'new')]
    given.fill('x')
    assert.deepStrictEqual(await Promise.all(found), ['value', true, ['value'], [true], undefined])
    await Promise.all(reads)
  })
  assert.deepStrictEqual(await db.iterator().all(), [[key, 'new']])
  await db.close()
})
