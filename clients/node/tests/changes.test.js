'use strict'

// The feed of changes, as an iterator and as a stream, and leases.

const { test } = require('node:test')
const assert = require('node:assert')
const { spawnSync } = require('node:child_process')
const { getEventListeners } = require('node:events')
const { Readable } = require('node:stream')
const { Level } = require('@cairndb/level')
const { freshPath } = require('./support')

const closed = { code: 'LEVEL_DATABASE_NOT_OPEN' }
const invalid = { code: 'LEVEL_INVALID_ARGUMENT' }

async function withLevel (body, options) {
  const db = new Level(freshPath(), options)
  try {
    await body(db)
  } finally {
    await db.close()
  }
}

/** Returns the next changes. */
async function take (changes, count) {
  const found = []
  while (found.length < count) found.push((await changes.next()).value)
  return found
}

const put = (key, value, keyspace) => ({ type: 'put', keyspace, key, value })

test('changes are delivered whole and in order', () => withLevel(async db => {
  const before = db.put('before', '1')
  const changes = db.changes()
  assert.strictEqual(changes.place, undefined)
  await Promise.all([before, changes.open()])
  const begin = changes.place
  assert.match(begin, /^[0-9a-f]{16}-\d+$/)
  assert.strictEqual(begin, await db.place())
  const users = await db.createKeyspace('users')
  await db.batch([
    { type: 'put', key: 'a', value: '' }, { type: 'del', key: 'b' },
    { type: 'put', key: 'ada', value: '1815', keyspace: users }
  ])
  await db.clear({ gte: 'c', lt: 'd' })
  await db.dropKeyspace('users')
  const found = await take(changes, 4)
  assert.deepStrictEqual(found.map(it => it.kind), ['keyspaceCreated', 'batch', 'batch', 'keyspaceDropped'])
  assert.ok(found.slice(1).every(it => it.time instanceof Date && Math.abs(Date.now() - it.time) < 60_000))
  assert.ok(found.every(it => it.durability === 'sync'))
  assert.strictEqual(changes.place, found[3].place)
  assert.strictEqual(found[0].keyspace, 'users')
  assert.deepStrictEqual(found[1].entries, [
    put('a', ''), { type: 'del', keyspace: undefined, key: 'b' }, put('ada', '1815', 'users')
  ])
  assert.deepStrictEqual(found[2].entries, [{ type: 'deleteRange', keyspace: undefined, from: 'c', to: 'd' }])
  await changes.close()
  assert.deepStrictEqual(await changes.next(), { done: true, value: undefined })
  await changes.close()
}))

test('encodings are those of the database, or given', () => withLevel(async db => {
  const decoded = db.changes({ durability: 'os', syncInterval: 1 })
  const bytes = db.changes({ keyEncoding: 'view', valueEncoding: 'buffer' })
  await Promise.all([decoded.open(), bytes.open()])
  await db.put('k', { n: 1 }, { sync: true })
  assert.deepStrictEqual((await take(decoded, 1))[0].entries, [put('k', { n: 1 })])
  const [{ key, value }] = (await take(bytes, 1))[0].entries
  assert.ok(key instanceof Uint8Array && value.equals(Buffer.from('{"n":1}')))
  await Promise.all([decoded.close(), bytes.close()])
}, { valueEncoding: 'json' }))

test('a lease keeps what was not acknowledged, also while the database is closed', () => withLevel(async db => {
  const { snapshot, changes } = await db.snapshotAndChanges({ lease: 'index', bytesMax: 1 << 30 })
  await db.put('a', '1')
  await db.put('b', '2', { sync: true })
  assert.strictEqual(await db.get('a', { snapshot }), undefined)
  await snapshot.close()
  const [{ place, entries }] = await take(changes, 1)
  assert.deepStrictEqual(entries, [put('a', '1')])
  await assert.rejects(changes.acknowledge(7), TypeError)
  await assert.rejects(changes.acknowledge('nowhere'), invalid)
  await changes.acknowledge(place)
  await changes.close()
  await assert.rejects(changes.acknowledge(place), { code: 'LEVEL_ITERATOR_NOT_OPEN' })
  await db.close()
  await db.open()
  assert.deepStrictEqual(await db.leases(), [{ name: 'index', place, fellOff: false }])
  for await (const change of db.changes({ lease: 'index' })) {
    assert.deepStrictEqual(change.entries, [put('b', '2')])
    break
  }
  const again = db.changes({ lease: 'index', after: await db.place() })
  await again.open()
  await db.put('c', '3', { sync: true })
  assert.deepStrictEqual((await take(again, 1))[0].entries, [put('c', '3')])
  await again.close()
  await db.dropLease('index')
  assert.deepStrictEqual(await db.leases(), [])
  await assert.rejects(db.dropLease('index'), { code: 'LEVEL_NOT_FOUND' })
}))

test('a consumer that falls off learns of it', () => withLevel(async db => {
  const changes = db.changes({ lease: 'slow', bytesMax: 8 << 20 })
  await changes.open()
  const batch = Array.from({ length: 1000 }, (_, i) => ({ type: 'put', key: `${i}`, value: 'x'.repeat(1000) }))
  for (let i = 0; i < 20; i++) await db.batch(batch)
  await db.compactRange('0', '9')
  assert.strictEqual((await db.leases())[0].fellOff, true)
  await assert.rejects(take(changes, 50), { code: 'LEVEL_REVOKED' })
  assert.strictEqual((await changes.next()).done, true)
}))

test('many changes are read, also as a stream', () => withLevel(async db => {
  const streamed = db.changes()
  const keys = Array.from({ length: 5000 }, (_, i) => `${i}`)
  await streamed.open()
  // Some are one batch.
  await Promise.all(keys.map(key => db.put(key, 'x'.repeat(100))))
  const place = await db.place()
  const key = change => change.entries.map(it => it.key)
  const seen = []
  const stream = streamed.stream()
  for await (const change of stream) {
    seen.push(...key(change))
    if (seen.length === keys.length) break
  }
  assert.deepStrictEqual(seen, keys)
  assert.ok(stream.destroyed)
  assert.strictEqual((await streamed.next()).done, true)
  const iterated = db.changes()
  await iterated.open()
  // Several calls at once get different changes, in order.
  const waiting = keys.slice(0, 1500).map(() => iterated.next())
  for (const key of keys.slice(0, 1500)) await db.put(key, '')
  await db.place()
  const some = await Promise.all(waiting)
  assert.deepStrictEqual(some.flatMap(it => key(it.value)), keys.slice(0, 1500))
  await iterated.close()
  const from = Readable.from(db.changes({ after: place }))
  const first = await new Promise(resolve => from.once('data', resolve))
  assert.deepStrictEqual(key(first), ['0'])
  from.destroy()
}))

test('a wait ends with a close, a signal and the database', () => withLevel(async db => {
  const closing = db.changes()
  const waiting = closing.next()
  await closing.open()
  await closing.close()
  assert.strictEqual((await waiting).done, true)
  const controller = new AbortController()
  const aborted = db.changes({ signal: controller.signal })
  const next = aborted.next()
  await aborted.open()
  controller.abort()
  await assert.rejects(next, { name: 'AbortError', code: 'LEVEL_ABORTED' })
  assert.strictEqual(getEventListeners(controller.signal, 'abort').length, 0)
  const ended = db.changes()
  const last = ended.next()
  await ended.open()
  await Promise.all([assert.rejects(last, closed), db.close()])
  await assert.rejects(db.changes().next(), closed)
  await assert.rejects(db.place(), closed)
  await assert.rejects(db.leases(), closed)
}))

test('what cannot be delivered is refused', () => withLevel(async db => {
  for (const options of [{ after: 'nowhere' }, { after: '0000000000000001-7' }, { lease: '' }, { durability: 'none' }]) {
    await assert.rejects(db.changes(options).next(), invalid)
  }
  assert.throws(() => db.changes({ leese: 'index' }), invalid)
  assert.throws(() => db.changes({ signal: 1 }), TypeError)
  assert.throws(() => db.changes({ valueEncoding: 'no' }), { code: 'LEVEL_ENCODING_NOT_FOUND' })
  assert.throws(() => db.place(() => {}), { code: 'LEVEL_LEGACY' })
  const unopened = db.changes({ after: 'nowhere' })
  await unopened.close()
}))

test('a process ends after a close, and not before', () => {
  const program = `
    const { Level } = require('@cairndb/level')
    async function main () {
      const db = new Level(process.argv[1])
      const changes = db.changes()
      await changes.open()
      // Keeps the process alive.
      const waiting = changes.next()
      setTimeout(() => db.put('k', 'v', { sync: true }), 50).unref()
      console.log((await waiting).value.entries[0].key)
      await changes.close()
    }
    main()`
  const ran = spawnSync(process.execPath, ['-e', program, freshPath()], { encoding: 'utf8', timeout: 60_000 })
  assert.deepStrictEqual([ran.status, ran.stdout, ran.stderr], [0, 'k\n', ''])
})
