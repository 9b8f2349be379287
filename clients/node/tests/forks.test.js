'use strict'

// Forks, and what differs in two databases.

const { test } = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const { getEventListeners } = require('node:events')
const { Level, diff } = require('@cairndb/level')
const { freshPath } = require('./support')

const closed = { code: 'LEVEL_DATABASE_NOT_OPEN' }
const invalid = { code: 'LEVEL_INVALID_ARGUMENT' }

async function withLevels (count, body) {
  const dbs = Array.from({ length: count }, () => new Level(freshPath()))
  try {
    await body(...dbs)
  } finally {
    for (const db of dbs) await db.close()
  }
}

async function opened (location, options, body) {
  const db = new Level(location, options)
  try {
    return await body(db)
  } finally {
    await db.close()
  }
}

async function all (iterable) {
  const found = []
  for await (const it of iterable) found.push(it)
  return found
}

test('a fork has the writes that were called before, and is a database of its own', () => withLevels(1, async db => {
  const location = freshPath()
  // Deferred until the database is open.
  const calls = [db.put('a', '1'), db.put('b', '2', { sync: true }), db.put('c', '3'), db.fork(location)]
  const report = (await Promise.all(calls))[3]
  assert.ok(report.shared > 0)
  assert.deepStrictEqual({ ...report, shared: 0 }, { shared: 0, cloned: 0, copied: 0, copiedBytes: 0 })
  // They wait for the disk, and for a turn.
  const loop = Array.from({ length: 5000 }, (_, i) => db.put(`k${i}`, 'v', { sync: i === 7 }))
  const later = freshPath()
  await db.fork(later)
  await Promise.all(loop)
  await opened(location, {}, async fork => {
    assert.deepStrictEqual(await fork.iterator().all(), [['a', '1'], ['b', '2'], ['c', '3']])
    await fork.put('a', 'other')
  })
  assert.strictEqual(await db.get('a'), '1')
  await opened(later, {}, async fork => assert.strictEqual((await fork.keys().all()).length, 5003))
}))

test('a fork of a snapshot has its moment', () => withLevels(2, async (db, other) => {
  const users = await db.createKeyspace('users')
  await db.put('k', 'old')
  await users.put('ada', '1815')
  const snapshot = db.snapshot()
  await db.batch([{ type: 'put', key: 'k', value: 'new' }, { type: 'del', key: 'ada', keyspace: users }])
  const location = freshPath()
  await db.fork(location, { snapshot })
  await opened(location, { readOnly: true }, async fork => {
    assert.strictEqual(await fork.get('k'), 'old')
    assert.strictEqual(await (await fork.keyspace('users')).get('ada'), '1815')
  })
  await assert.rejects(db.fork(freshPath(), { snapshot: {} }), TypeError)
  await other.open()
  await assert.rejects(other.fork(freshPath(), { snapshot }), invalid)
  await snapshot.close()
  await assert.rejects(db.fork(freshPath(), { snapshot }), { code: 'LEVEL_SNAPSHOT_NOT_OPEN' })
}))

test('a fork can be refused and aborted', () => withLevels(1, async db => {
  await db.put('k', 'v')
  const location = freshPath()
  await assert.rejects(db.fork(''), TypeError)
  await assert.rejects(db.fork(location, { snapshto: 1 }), invalid)
  assert.throws(() => db.fork(location, () => {}), { code: 'LEVEL_LEGACY' })
  fs.mkdirSync(location)
  fs.writeFileSync(`${location}/notes`, '')
  await assert.rejects(db.fork(location), invalid)
  await assert.rejects(db.fork(db.location), invalid)
  const free = freshPath()
  await assert.rejects(db.fork(free, { signal: AbortSignal.abort() }), { name: 'AbortError', code: 'LEVEL_ABORTED' })
  const controller = new AbortController()
  const forking = db.fork(free, { signal: controller.signal })
  controller.abort()
  const aborted = await forking.then(() => false, err => err.code === 'LEVEL_ABORTED')
  assert.strictEqual(fs.existsSync(free), !aborted)
  let seen = false
  await db.fork(freshPath(), { onProgress: () => { seen = true } })
  assert.ok(seen)
  await opened(db.location, { follow: true }, async follower => {
    await assert.rejects(follower.fork(freshPath()), { code: 'LEVEL_READ_ONLY' })
  })
  await db.close()
  await assert.rejects(db.fork(freshPath()), closed)
}))

test('diff yields what differs, in the encodings of the first database', () => withLevels(1, async db => {
  await db.batch(['a', 'b', 'c'].map(key => ({ type: 'put', key, value: `"${key}"` })))
  const location = freshPath()
  await db.fork(location)
  await opened(location, { valueEncoding: 'json' }, async fork => {
    assert.deepStrictEqual(await all(diff(db, fork)), [])
    await fork.del('a')
    await fork.put('b', '')
    await fork.put('d', { n: 1 })
    await (await fork.createKeyspace('users', { valueEncoding: 'json' })).put('ada', 1815)
    assert.deepStrictEqual(await all(diff(db, fork)), [
      { keyspace: undefined, key: 'a', before: '"a"', after: undefined },
      { keyspace: undefined, key: 'b', before: '"b"', after: '""' },
      { keyspace: undefined, key: 'd', before: undefined, after: '{"n":1}' },
      { keyspace: 'users', key: 'ada', before: undefined, after: '1815' }
    ])
    const turned = await all(diff(fork, db))
    assert.deepStrictEqual(turned[2], { keyspace: undefined, key: 'd', before: { n: 1 }, after: undefined })
    const bytes = await all(diff(db, fork, { keyEncoding: 'view', valueEncoding: 'buffer' }))
    assert.deepStrictEqual(bytes[1].after, Buffer.from('""'))
    assert.ok(bytes[1].key instanceof Uint8Array)
    assert.deepStrictEqual(await all(diff(db, db)), [])
  })
}))

test('diff reads many differences, and ends with its loop', () => withLevels(2, async (db, other) => {
  const value = 'x'.repeat(100)
  const entries = Array.from({ length: 5000 }, (_, i) => ({ type: 'put', key: `${i}`.padStart(5, '0'), value }))
  await db.batch(entries)
  // Both open by themselves.
  const found = await all(diff(db, other))
  assert.deepStrictEqual(found.map(it => it.key), entries.map(it => it.key))
  assert.ok(found.every(it => it.before === value && it.after === undefined && it.keyspace === undefined))
  let count = 0
  for await (const it of diff(other, db)) {
    assert.strictEqual(it.after, value)
    if (++count === 1500) break
  }
  const reading = diff(db, other)
  await reading.next()
  const [last] = await Promise.all([all(reading), other.close()]).catch(err => [err])
  // What was read before the close is yielded.
  assert.ok(last.code === closed.code || last.length === 4999, last)
}))

test('diff can be refused and aborted', () => withLevels(2, async (db, other) => {
  await db.put('k', 'v')
  for (const wrong of [undefined, {}, await db.createKeyspace('users')]) {
    await assert.rejects(all(diff(db, wrong)), TypeError)
  }
  await assert.rejects(all(diff(db, other, { keyEncodin: 'utf8' })), invalid)
  await assert.rejects(all(diff(db, other, { valueEncoding: 'no' })), { code: 'LEVEL_ENCODING_NOT_FOUND' })
  await assert.rejects(all(diff(db, other, { signal: AbortSignal.abort() })), { code: 'LEVEL_ABORTED' })
  const { signal } = new AbortController()
  assert.strictEqual((await all(diff(db, other, { signal }))).length, 1)
  assert.strictEqual(getEventListeners(signal, 'abort').length, 0)
  await other.close()
  await assert.rejects(all(diff(db, other)), closed)
}))
