'use strict'

// Callbacks and options that `abstract-level` ignores are errors here, with what to do.

const { test } = require('node:test')
const assert = require('node:assert')
const { once } = require('node:events')
const { Level, ClassicLevel } = require('@cairndb/level')
const { freshPath } = require('./support')

const never = () => assert.fail('a callback was called')

/** Calls of a database and its sublevels, by the method that throws. */
const CALLS = {
  open: db => db.open(never),
  get: db => db.get('a', never),
  'get with options': db => db.get('a', {}, never),
  getSync: db => db.getSync('a', never),
  getMany: db => db.getMany(['a'], never),
  has: db => db.has('a', never),
  hasMany: db => db.hasMany(['a'], never),
  put: db => db.put('a', 'b', never),
  'put with options': db => db.put('a', 'b', { sync: true }, never),
  del: db => db.del('a', never),
  batch: db => db.batch([{ type: 'del', key: 'a' }], never),
  clear: db => db.clear(never),
  'clear with options': db => db.clear({ gt: 'a' }, never),
  'batch().put': db => db.batch().put('a', 'b', never),
  'batch().del': db => db.batch().del('a', never),
  'batch().write': db => db.batch().write(never),
  'batch().close': db => db.batch().close(never),
  'snapshot().close': db => db.snapshot().close(never)
}
for (const what of ['iterator', 'keys', 'values']) {
  CALLS[`${what}().next`] = db => db[what]().next(never)
  CALLS[`${what}().nextv`] = db => db[what]().nextv(3, never)
  CALLS[`${what}().all`] = db => db[what]().all(never)
  CALLS[`${what}().close`] = db => db[what]().close(never)
}

const LEGACY = { code: 'LEVEL_LEGACY', message: /callback.*(await|use what it returns)/ }

test('a callback as the last argument throws at once', async () => {
  for (const Class of [Level, ClassicLevel]) {
    assert.throws(() => new Class(freshPath(), {}, never), LEGACY)
    assert.throws(() => new Class(freshPath(), never), LEGACY)
    assert.throws(() => Class.destroy(freshPath(), never), LEGACY)
    assert.throws(() => Class.repair(freshPath(), never), LEGACY)
    const db = new Class(freshPath())
    // These are deferred until the database is open, and iterators are other objects.
    for (const name of ['get', 'put', 'iterator().next', 'keys().all', 'values().nextv']) {
      assert.throws(() => CALLS[name](db), LEGACY, name)
    }
    await db.open()
    const sublevel = db.sublevel('one')
    await sublevel.open()
    const nested = sublevel.sublevel('two')
    await nested.open()
    for (const store of [db, sublevel, nested]) {
      for (const [name, call] of Object.entries(CALLS)) assert.throws(() => call(store), LEGACY, name)
    }
    assert.throws(() => db.approximateSize('a', 'b', never), LEGACY)
    assert.throws(() => db.compactRange('a', 'b', never), LEGACY)
    assert.deepStrictEqual(await db.keys().all(), [], 'a call that has thrown did nothing')
    const warned = once(process, 'warning')
    await db.close(never)
    assert.strictEqual((await warned)[0].code, 'LEVEL_LEGACY')
    assert.strictEqual(db.status, 'closed')
  }
})

test('a function may be a value', async () => {
  const db = new Level(freshPath(), { valueEncoding: { name: 'f', format: 'utf8', encode: String, decode: String } })
  await db.put('f', never)
  assert.strictEqual(await db.get('f'), String(never))
  await db.close()
})

test('a database is opened with known options only', async () => {
  const code = 'LEVEL_INVALID_ARGUMENT'
  for (const [name, message] of [
    ['createIfMising', /'createIfMising'.*did you mean 'createIfMissing'/],
    ['readonly', /'readonly'.*did you mean 'readOnly'/],
    ['valueEncodng', /did you mean 'valueEncoding'/]
  ]) {
    assert.throws(() => new Level(freshPath(), { [name]: true }), { code, message })
    const db = new Level(freshPath())
    await assert.rejects(db.open({ [name]: true }), { code, message })
    await db.close()
  }
  const unknown = new Level(freshPath(), { filterPolicy: true })
  await assert.rejects(unknown.open(), ({ cause }) => {
    return cause.code === code && /'filterPolicy'; it has .*createIfMissing.*memory/.test(cause.message)
  })
  const own = []
  unknown.hooks.postopen.add(async options => own.push(options.filterPolicy))
  await unknown.open()
  assert.deepStrictEqual(own, [true])
  await unknown.close()
  const all = { createIfMissing: true, multithreading: true, cacheSize: 1 << 20, blockSize: 1, prefix: 'p', nothing: undefined }
  const db = new Level(freshPath(), Object.create({ inherited: true }, Object.getOwnPropertyDescriptors(all)))
  await db.open({ passive: false })
  await db.close()
})

test('a misspelled option of an operation is refused, one of the program is not', async () => {
  const db = new Level(freshPath(), { valueEncoding: 'json' })
  await db.batch([{ type: 'put', key: 'a', value: 1 }, { type: 'put', key: 'b', value: 2 }])
  const sublevel = db.sublevel('one')
  await sublevel.open()
  const refused = words => ({ code: 'LEVEL_INVALID_ARGUMENT', message: words })
  const limit = refused(/'limt'.*did you mean 'limit'/)
  for (const store of [db, sublevel]) {
    await assert.rejects(store.get('a', { valueencoding: 'utf8' }), refused(/did you mean 'valueEncoding'/))
    assert.throws(() => store.getSync('a', { snapshoot: null }), refused(/did you mean 'snapshot'/))
    await assert.rejects(store.put('c', 3, { Sync: true }), refused(/did you mean 'sync'/))
    await assert.rejects(store.batch([{ type: 'del', key: 'a' }], { snyc: true }), refused(/did you mean 'sync'/))
    await assert.rejects(store.clear({ limt: 1 }), limit)
    for (const what of ['iterator', 'keys', 'values']) assert.throws(() => store[what]({ limt: 1 }), limit)
    assert.throws(() => store.batch().put('c', 3, { valueEncodin: 'utf8' }), refused(/did you mean 'valueEncoding'/))
    await assert.rejects(store.batch().write({ synch: true }), refused(/did you mean 'sync'/))
    // Ignored, this one would clear everything.
    await assert.rejects(store.clear({ start: 'b' }), refused(/'start'.*'gte'/))
    assert.throws(() => store.iterator({ keyAsBuffer: true }), refused(/'keyAsBuffer'.*'keyEncoding'/))
  }
  assert.strictEqual((await db.keys().all()).length, 2)
  const written = once(db, 'write')
  await db.put('d', 4, { ttl: 1000, who: 'me' })
  assert.strictEqual((await written)[0][0].who, 'me')
  await db.close()
})
