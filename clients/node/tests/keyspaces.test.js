'use strict'

// Keyspaces as databases of `abstract-level`.

const { test } = require('node:test')
const assert = require('node:assert')
const { Level } = require('@cairndb/level')
const { freshPath } = require('./support')

async function withLevel (body) {
  const db = new Level(freshPath())
  try {
    await body(db)
  } finally {
    await db.close()
  }
}

const closed = { code: 'LEVEL_DATABASE_NOT_OPEN' }
const invalid = { code: 'LEVEL_INVALID_ARGUMENT' }

test('a keyspace has the calls of a database', () => withLevel(async db => {
  const users = await db.createKeyspace('users', { valueEncoding: 'json', compression: false, valueBytes: 20 })
  await db.put('ada', 'default')
  await users.put('ada', { born: 1815 })
  await users.put('alan', { born: 1912 }, { sync: true })
  await users.batch([{ type: 'put', key: 'grace', value: { born: 1906 } }, { type: 'del', key: 'absent' }])
  assert.deepStrictEqual(await users.get('ada'), { born: 1815 })
  assert.deepStrictEqual(users.getSync('alan'), { born: 1912 })
  assert.deepStrictEqual(await users.getMany(['grace', 'x']), [{ born: 1906 }, undefined])
  assert.deepStrictEqual(await users.hasMany(['ada', 'x']), [true, false])
  assert.strictEqual(await users.has('alan'), true)
  assert.deepStrictEqual(await users.keys().all(), ['ada', 'alan', 'grace'])
  assert.deepStrictEqual(await users.keys({ reverse: true, lt: 'grace' }).all(), ['alan', 'ada'])
  assert.deepStrictEqual(await users.iterator({ gte: 'b' }).all(), [['grace', { born: 1906 }]])
  assert.deepStrictEqual(await db.iterator().all(), [['ada', 'default']])
  await users.del('ada')
  await users.compactRange('a', 'z')
  assert.ok(await users.approximateSize('a', 'z') > 0)
  const sublevel = users.sublevel('sub')
  await sublevel.put('k', 'v')
  assert.deepStrictEqual(await users.keys().all(), ['!sub!k', 'alan', 'grace'])
  await users.clear({ gt: 'alan' })
  assert.deepStrictEqual(await users.keys().all(), ['!sub!k', 'alan'])
  const bytes = await db.keyspace('users', { keyEncoding: 'buffer', valueEncoding: 'buffer' })
  assert.deepStrictEqual(await bytes.get(Buffer.from('alan')), Buffer.from('{"born":1912}'))
  assert.deepStrictEqual([bytes.name, await db.keyspaces()], ['users', ['users']])
}))

test('keyspaces are there after the next open', async () => {
  const location = freshPath()
  const db = new Level(location)
  const users = await db.createKeyspace('users')
  await users.put('a', 'b')
  await db.close()
  assert.strictEqual(users.status, 'closed')
  await assert.rejects(users.get('a'), closed)
  await assert.rejects(db.keyspace('users'), closed)
  await db.open()
  await users.open()
  assert.strictEqual(await users.get('a'), 'b')
  await db.close()
})

test('a batch and a snapshot span keyspaces', () => withLevel(async db => {
  const [users, notes] = [await db.createKeyspace('users', { valueEncoding: 'json' }), await db.createKeyspace('notes')]
  await users.put('old', 1)
  const before = db.snapshot()
  const large = 'x'.repeat(300_000)
  await db.batch([
    { type: 'put', key: 'k', value: 'default' },
    { type: 'put', key: 'k', value: { in: 'users' }, keyspace: users },
    { type: 'put', key: 'k', value: large, keyspace: notes },
    { type: 'del', key: 'old', keyspace: users },
    { type: 'put', key: 'l', value: 'sub', keyspace: notes.sublevel('s') },
    { type: 'put', key: 'l', value: 'default' }
  ])
  await notes.batch().put('m', 'notes').put('m', { in: 'users' }, { keyspace: users }).del('l', { keyspace: db })
    .put('buffer', Buffer.alloc(100_000), { valueEncoding: 'buffer' }).write({ sync: true })
  assert.deepStrictEqual(await db.iterator().all(), [['k', 'default']])
  assert.deepStrictEqual(await users.iterator().all(), [['k', { in: 'users' }], ['m', { in: 'users' }]])
  assert.deepStrictEqual(await notes.keys().all(), ['!s!l', 'buffer', 'k', 'm'])
  assert.strictEqual(await notes.get('k'), large)
  assert.deepStrictEqual(await users.iterator({ snapshot: before }).all(), [['old', 1]])
  assert.strictEqual(await users.get('old', { snapshot: before }), 1)
  assert.deepStrictEqual(await notes.getMany(['k', 'm'], { snapshot: before }), [undefined, undefined])
  await before.close()
  await assert.rejects(db.batch([{ type: 'del', key: 'k', keyspace: {} }]), TypeError)
  await withLevel(async other => {
    const foreign = await other.createKeyspace('users')
    await assert.rejects(db.batch([{ type: 'put', key: 'k', value: 'not written' }, { type: 'put', key: 'k', value: '', keyspace: foreign }]), invalid)
  })
  assert.strictEqual(await db.get('k'), 'default')
}))

test('a dropped keyspace is closed, and nothing else', () => withLevel(async db => {
  const [gone, kept] = [await db.createKeyspace('gone'), await db.createKeyspace('kept')]
  await gone.batch(Array.from({ length: 3000 }, (_, i) => ({ type: 'put', key: `${i}`, value: 'v' })))
  const iterator = gone.iterator()
  await iterator.next()
  const snapshot = db.snapshot()
  // In the order of the calls, although all wait for a sync.
  const sync = { sync: true }
  const results = await Promise.allSettled([
    gone.put('k', 'v', sync), db.dropKeyspace('gone'), gone.put('k', 'v', sync), kept.put('k', 'v', sync),
    db.put('k', 'v', sync)
  ])
  assert.deepStrictEqual(results.map(({ status }) => status), ['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  const again = await db.createKeyspace('gone')
  await assert.rejects(gone.get('k'), closed)
  await assert.rejects(gone.put('k', 'v'), closed)
  await assert.rejects(gone.get('1', { snapshot }), closed)
  await assert.rejects(async () => gone.iterator().all(), closed)
  await assert.rejects(async () => gone.iterator({ snapshot }).all(), closed)
  await assert.rejects(db.batch([{ type: 'put', key: 'l', value: '' }, { type: 'put', key: 'l', value: '', keyspace: gone }]), closed)
  assert.strictEqual(await db.get('l'), undefined)
  assert.deepStrictEqual(await again.keys().all(), [])
  assert.strictEqual((await iterator.all()).length, 2999)
  await snapshot.close()
  assert.deepStrictEqual(await db.keyspaces(), ['gone', 'kept'])
}))

test('bad names are refused', () => withLevel(async db => {
  for (const name of ['', 'n'.repeat(256)]) {
    await assert.rejects(db.createKeyspace(name), invalid)
    await assert.rejects(db.keyspace(name), invalid)
    await assert.rejects(db.dropKeyspace(name), err => ['LEVEL_INVALID_ARGUMENT', 'LEVEL_NOT_FOUND'].includes(err.code))
  }
  await assert.rejects(db.keyspace('unknown'), { code: 'LEVEL_NOT_FOUND' })
  await assert.rejects(db.dropKeyspace('unknown'), { code: 'LEVEL_NOT_FOUND' })
  for (const call of ['keyspace', 'createKeyspace', 'dropKeyspace']) await assert.rejects(db[call](7), TypeError)
  await db.createKeyspace('n'.repeat(255))
  await assert.rejects(db.createKeyspace('n'.repeat(255)), invalid)
  await assert.rejects(db.createKeyspace('x', { valueBites: 7 }), invalid)
  assert.throws(() => db.keyspaces(() => {}), { code: 'LEVEL_LEGACY' })
}))
