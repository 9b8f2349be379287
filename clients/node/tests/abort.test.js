'use strict'

// Signals that abort long calls, and the progress of these calls.
//
// No test counts on a call to take long: the signal is aborted before the call or while it is under
// way, at the latest when it has reported progress, and either way what follows must hold.

const { test } = require('node:test')
const assert = require('node:assert')
const fs = require('node:fs')
const path = require('node:path')
const { getEventListeners } = require('node:events')
const { ClassicLevel: Original } = require('classic-level')
const { Level } = require('@cairndb/level')
const binding = require('@cairndb/level-linux-x64-gnu')
const { freshPath } = require('./support')

const ENTRIES = 20000
const entries = Array.from({ length: ENTRIES }, (_, i) => ({ type: 'put', key: `k${i}`, value: `${i} `.repeat(20) }))
const REASON = new Error('as planned')
const ABORTED = { name: 'AbortError', code: 'LEVEL_ABORTED', cause: REASON }

/** The long calls of a database that is open at `location`, and those of one that is closed. */
const OPEN = {
  compactRange: (db, options) => db.compactRange('a', 'z', options),
  clear: (db, options) => db.clear({ gte: 'x', ...options })
}
const CLOSED = {
  open: (location, options) => withLevel(location, options),
  repair: (location, options) => Level.repair(location, options)
}

async function withLevel (location, options, body = async () => {}) {
  const db = new Level(location)
  try {
    await db.open(options)
    await body(db)
  } catch (err) {
    throw err.cause?.code === 'LEVEL_ABORTED' ? err.cause : err
  } finally {
    await db.close()
  }
}

async function check (location) {
  await withLevel(location, {}, async db => assert.strictEqual((await db.keys().all()).length, ENTRIES))
}

/** Makes `call` with a signal that `when` aborts. Returns whether it was aborted. */
async function abortedBy (when, call) {
  const controller = new AbortController()
  const { signal } = controller
  const done = call({ signal })
  when(() => controller.abort(REASON))
  const result = await done.then(() => null, err => err)
  if (result !== null) {
    assert.deepStrictEqual({ name: result.name, code: result.code, cause: result.cause }, ABORTED)
  }
  assert.strictEqual(getEventListeners(signal, 'abort').length, 0)
  return result !== null
}

/** Aborts after a number of turns of the event loop. */
function after (turns) {
  return abort => turns === 0 ? abort() : setImmediate(() => after(turns - 1)(abort))
}

test('an aborted signal rejects without starting', async () => {
  const location = freshPath()
  const signal = AbortSignal.abort(REASON)
  await assert.rejects(CLOSED.open(location, { signal }), ABORTED)
  assert.ok(!fs.existsSync(location), 'an aborted open made a directory')
  await withLevel(location, {}, async db => {
    await db.batch(entries)
    for (const call of Object.values(OPEN)) await assert.rejects(call(db, { signal }), ABORTED)
    await assert.rejects(db.clear({ signal }), ABORTED)
  })
  await assert.rejects(CLOSED.repair(location, { signal }), ABORTED)
  assert.deepStrictEqual(fs.readdirSync(path.dirname(location)), ['db'])
  await check(location)
})

test('a call that is aborted in the same turn ends without an effect', async () => {
  const location = freshPath()
  await withLevel(location, {}, db => db.batch(entries))
  await withLevel(location, {}, async db => {
    for (const [name, call] of Object.entries(OPEN)) {
      await abortedBy(after(0), options => call(db, options))
      await call(db, {})
      assert.strictEqual((await db.keys().all()).length, ENTRIES, name)
    }
  })
  for (const call of Object.values(CLOSED)) {
    await abortedBy(after(0), options => call(location, options))
    await check(location)
  }
})

test('a call that is aborted at any turn leaves the database usable, and can be repeated', async () => {
  const location = freshPath()
  await withLevel(location, {}, db => db.batch(entries))
  for (let turns = 1; turns < 200; turns *= 3) {
    const later = after(turns)
    await withLevel(location, {}, async db => {
      await db.batch(entries)
      await abortedBy(later, options => db.compactRange('a', 'z', options))
      await db.batch(entries)
      await abortedBy(later, options => db.clear({ gte: 'k5', ...options }))
      assert.ok((await db.keys({ lt: 'k5' }).all()).length > 0)
      await db.batch(entries)
    })
    const before = fs.readdirSync(path.dirname(location))
    await abortedBy(later, options => CLOSED.open(location, options))
    const aborted = await abortedBy(later, options => CLOSED.repair(location, options))
    if (aborted) assert.deepStrictEqual(fs.readdirSync(path.dirname(location)), before)
    await check(location)
  }
  await Level.repair(location)
  await check(location)
})

test('a conversion that is aborted can be repeated', async () => {
  const location = freshPath()
  const original = new Original(location)
  await original.batch(entries)
  await original.close()
  for (let turns = 1; turns < 200; turns *= 3) {
    const later = after(turns)
    await abortedBy(later, options => CLOSED.open(location, { upgrade: true, ...options }))
  }
  await withLevel(location, { upgrade: true })
  await check(location)
})

test('the addon notices an abort before the first piece of work, and during it', async () => {
  const location = freshPath()
  const aborted = () => {
    const watch = binding.watchNew()
    binding.watchAbort(watch)
    return watch
  }
  const interrupted = { code: 'LEVEL_ABORTED' }
  fs.mkdirSync(location)
  await assert.rejects(binding.open(location, {}, aborted()), interrupted)
  const handle = await binding.open(location, {})
  for (let i = 0; i < 1000; i++) await binding.put(handle, 0, `k${i}`, 'v')
  await assert.rejects(binding.compactRange(handle, 0, 'a', 'z', aborted()), interrupted)
  await assert.rejects(binding.clear(handle, 0, undefined, undefined, -1, undefined, aborted()), interrupted)
  assert.strictEqual(binding.getSync(handle, 0, 'k999'), 'v')
  // A clear that waits in the queue.
  const watch = binding.watchNew()
  const calls = [
    binding.put(handle, 4, 'later', 'w'),
    binding.clear(handle, 0, undefined, undefined, -1, undefined, watch),
    binding.put(handle, 0, 'after', 'w')
  ]
  binding.watchAbort(watch)
  const [put, clear, after] = await Promise.allSettled(calls)
  assert.deepStrictEqual([put.status, clear.status, after.status], ['fulfilled', 'rejected', 'fulfilled'])
  assert.strictEqual(clear.reason.code, 'LEVEL_ABORTED')
  assert.strictEqual(binding.getSync(handle, 0, 'k999'), 'v')
  await binding.close(handle)
  await assert.rejects(binding.repair(location, `${location}.aside`, aborted()), interrupted)
})

test('an open that waits for another of the same database can be aborted', async () => {
  const location = freshPath()
  await withLevel(location, {}, db => db.batch(entries))
  const [first, second] = [new Level(location), new Level(location)]
  const opening = first.open()
  await abortedBy(after(0), options => second.open(options).catch(err => { throw err.cause }))
  await opening
  assert.strictEqual((await first.keys().all()).length, ENTRIES)
  await second.open()
  await Promise.all([first.close(), second.close()])
})

test('a deferred call is aborted before the database is open', async () => {
  const db = new Level(freshPath())
  const controller = new AbortController()
  const calls = Object.values(OPEN).map(call => call(db, { signal: controller.signal }))
  controller.abort(REASON)
  for (const { reason } of await Promise.allSettled(calls)) {
    assert.strictEqual(reason.code, 'LEVEL_ABORTED')
  }
  await db.open()
  await db.close()
  assert.strictEqual(getEventListeners(controller.signal, 'abort').length, 0)
})

test('one signal may be that of many calls, and keeps no listener of them', async () => {
  const { signal } = new AbortController()
  await withLevel(freshPath(), { signal }, async db => {
    for (let i = 0; i < 20; i++) {
      await Promise.all(Object.values(OPEN).map(call => call(db, { signal })))
      await db.iterator({ signal }).all()
    }
    await assert.rejects(db.compactRange('a', 'z', { signal, keyEncoding: 'none such' }))
  })
  assert.strictEqual(getEventListeners(signal, 'abort').length, 0)
})

test('progress is reported in bytes, and never decreases', async () => {
  const location = freshPath()
  const original = new Original(location)
  await original.batch(entries)
  await original.close()
  const seen = { open: [], compactRange: [], repair: [] }
  const onProgress = name => (done, total) => seen[name].push([done, total])
  const db = new Level(location, { upgrade: true, onProgress: onProgress('open') })
  await db.open()
  await db.batch(entries)
  await db.compactRange('a', 'z', { onProgress: onProgress('compactRange') })
  await db.close()
  await Level.repair(location, { onProgress: onProgress('repair') })
  for (const [name, reports] of Object.entries(seen)) {
    const [done, total] = reports.at(-1)
    assert.ok(done > 0 && total > 0, `${name}: ${done} of ${total}`)
    assert.ok(reports.every(([done], i) => i === 0 || done >= reports[i - 1][0]), name)
  }
})

test('options of the wrong kind are refused', async () => {
  await withLevel(freshPath(), {}, async db => {
    await assert.rejects(db.compactRange('a', 'z', { signal: 'now' }), TypeError)
    await assert.rejects(db.compactRange('a', 'z', { onProgress: 1 }), TypeError)
    await assert.rejects(db.clear({ signal: {} }), TypeError)
  })
})
