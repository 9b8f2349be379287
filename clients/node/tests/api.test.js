'use strict'

// Calls that the suite of `abstract-level` does not make: every form of keys and values through every
// path of the addon, sizes at its thresholds, orders of writes.

const { test } = require('node:test')
const assert = require('node:assert')
const { Level, ClassicLevel } = require('@cairndb/level')
const { freshPath } = require('./support')

async function withLevel (options, body) {
  const db = new Level(freshPath(), options)
  await db.open()
  try {
    await body(db)
  } finally {
    await db.close()
  }
}

/** Strings with every length of UTF-8, and halves of surrogate pairs at both ends. */
const STRINGS = [
  'a', 'ascii', 'é', 'grün', '石', '石の山', '🪨', 'x🪨y🪨', '\u0000', 'a\u0000b',
  'ends with \uD83E', '\uDEA8 begins', '\uD83E', '\uDEA8', 'z'.repeat(3000), 'ü'.repeat(3000)
]

/** What a string becomes when it is stored as UTF-8. */
function stored (text) {
  return Buffer.from(text).toString()
}

test('strings of all kinds are stored alike by put, batch and chained batch', async () => {
  for (const write of ['put', 'batch', 'chained']) {
    await withLevel({}, async db => {
      const ops = STRINGS.map((text, i) => ({ type: 'put', key: `${i} ${text}`, value: text }))
      if (write === 'put') for (const op of ops) await db.put(op.key, op.value)
      if (write === 'batch') await db.batch(ops)
      if (write === 'chained') {
        const batch = db.batch()
        for (const op of ops) batch.put(op.key, op.value)
        await batch.write()
      }
      const keys = ops.map(op => op.key)
      const wanted = STRINGS.map(stored)
      assert.deepStrictEqual(keys.map(key => db.getSync(key)), wanted, write)
      assert.deepStrictEqual(await Promise.all(keys.map(key => db.get(key))), wanted, write)
      assert.deepStrictEqual(await db.getMany(keys), wanted, write)
      assert.deepStrictEqual(await db.hasMany([...keys, 'absent']), [...keys.map(() => true), false])
      const found = new Map(await db.iterator().all())
      assert.deepStrictEqual(keys.map(key => found.get(stored(key))), wanted, write)
    })
  }
})

test('strings that are joined for a call keep their borders', async () => {
  await withLevel({}, async db => {
    // Joined, the halves would be one character.
    await db.batch([
      { type: 'put', key: 'k\uD83E', value: '\uDEA8v' },
      { type: 'del', key: 'absent\uD83E' },
      { type: 'put', key: '\uDEA8', value: '' }
    ])
    assert.deepStrictEqual(await db.iterator().all(), [['k\uFFFD', '\uFFFDv'], ['\uFFFD', '']])
    assert.deepStrictEqual(await db.getMany(['k\uD83E', '\uDEA8', 'k']), ['\uFFFDv', '', undefined])
  })
})

test('bytes of all kinds are read as Buffers and views', async () => {
  await withLevel({ keyEncoding: 'view', valueEncoding: 'buffer' }, async db => {
    const memory = new ArrayBuffer(64)
    const part = new Uint8Array(memory, 8, 3)
    part.set([1, 0, 255])
    await db.put(part, part)
    await db.batch([{ type: 'put', key: Buffer.from('b'), value: Buffer.alloc(0) }])
    part.fill(7)
    const key = Uint8Array.of(1, 0, 255)
    for (const value of [db.getSync(key), await db.get(key), (await db.getMany([key]))[0]]) {
      assert.ok(Buffer.isBuffer(value))
      assert.deepStrictEqual([...value], [1, 0, 255])
    }
    const [first, second] = await db.iterator().all()
    assert.deepStrictEqual([...first[0]], [1, 0, 255])
    assert.ok(Buffer.isBuffer(second[1]))
    assert.strictEqual(second[1].length, 0)
    assert.deepStrictEqual((await db.keys().all()).map(key => key.length), [3, 1])
    assert.deepStrictEqual((await db.values().all()).map(value => value.length), [3, 0])
  })
})

test('keys and values of different forms are mixed in a batch and an iterator', async () => {
  await withLevel({}, async db => {
    await db.batch([
      { type: 'put', key: 'text', value: Buffer.from('bytes'), valueEncoding: 'buffer' },
      { type: 'put', key: Buffer.from('bytes'), keyEncoding: 'buffer', value: 'text' },
      { type: 'put', key: 'json', value: { a: [1] }, valueEncoding: 'json' },
      { type: 'del', key: Buffer.from('none'), keyEncoding: 'buffer' }
    ])
    const utf8 = [['bytes', 'text'], ['json', '{"a":[1]}'], ['text', 'bytes']]
    for (const keyEncoding of ['utf8', 'buffer']) {
      for (const valueEncoding of ['utf8', 'buffer']) {
        const entries = await db.iterator({ keyEncoding, valueEncoding }).all()
        assert.strictEqual(typeof entries[0][0] === 'string', keyEncoding === 'utf8')
        assert.strictEqual(typeof entries[0][1] === 'string', valueEncoding === 'utf8')
        assert.deepStrictEqual(entries.map(([key, value]) => [String(key), String(value)]), utf8)
      }
    }
    assert.deepStrictEqual(await db.iterator({ keys: false, valueEncoding: 'buffer' }).all(),
      utf8.map(([, value]) => [undefined, Buffer.from(value)]))
    assert.deepStrictEqual(await db.iterator({ values: false, keyEncoding: 'buffer' }).all(),
      utf8.map(([key]) => [Buffer.from(key), undefined]))
  })
})

test('values of sizes around every threshold are read as written', async () => {
  const lengths = [0, 1, 4095, 8191, 8192, 16383, 16384, 32767, 32768, 262144, 262145, 1 << 20, 5 << 20]
  await withLevel({ valueEncoding: 'buffer' }, async db => {
    const value = length => Buffer.alloc(length, `${length},`)
    for (const length of lengths) await db.put(`put ${length}`, value(length))
    await db.batch(lengths.map(length => ({ type: 'put', key: `batch ${length}`, value: value(length) })))
    const text = lengths.map(length => ({ type: 'put', key: `text ${length}`, value: value(length).toString() }))
    await db.batch(text, { valueEncoding: 'utf8' })
    const keys = ['put', 'batch', 'text'].flatMap(way => lengths.map(length => `${way} ${length}`))
    const check = (found, key) => assert.ok(found.equals(value(Number(key.split(' ')[1]))), key)
    for (const key of keys) {
      check(await db.get(key), key)
      check(db.getSync(key), key)
    }
    const many = await db.getMany(keys)
    keys.forEach((key, i) => check(many[i], key))
    const entries = await db.iterator().all()
    assert.strictEqual(entries.length, keys.length)
    for (const [key, found] of entries) check(found, key)
    for await (const [key, found] of db.iterator({ highWaterMarkBytes: 1 })) check(found, key)
    for (const length of lengths) {
      assert.strictEqual(await db.get(`text ${length}`, { valueEncoding: 'utf8' }), value(length).toString())
    }
  })
})

test('a batch of any length is written as a whole', async () => {
  await withLevel({}, async db => {
    for (const chained of [false, true]) {
      await db.clear()
      const batch = chained ? db.batch() : []
      for (let i = 0; i < 50000; i++) {
        const key = String(i).padStart(6, '0')
        if (chained) batch.put(key, `value ${i}`)
        else batch.push({ type: 'put', key, value: `value ${i}` })
      }
      await (chained ? batch.write() : db.batch(batch))
      let count = 0
      for await (const [key, value] of db.iterator()) {
        assert.strictEqual(key, String(count).padStart(6, '0'))
        assert.strictEqual(value, `value ${count++}`)
      }
      assert.strictEqual(count, 50000)
    }
  })
})

test('writes take effect in the order of their calls, durable ones among them', async () => {
  await withLevel({}, async db => {
    for (let round = 0; round < 20; round++) {
      const writes = []
      for (let i = 0; i < 200; i++) {
        const sync = i % 7 === round % 7
        if (i % 3 === 0) writes.push(db.batch([{ type: 'put', key: 'k', value: String(i) }], { sync }))
        else writes.push(db.put('k', String(i), { sync }))
      }
      await Promise.all(writes)
      assert.strictEqual(await db.get('k'), '199')
      const last = [db.put('k', 'a', { sync: true }), db.del('k'), db.put('l', 'b'), db.del('l', { sync: true })]
      await Promise.all(last)
      assert.deepStrictEqual(await db.getMany(['k', 'l']), [undefined, undefined])
    }
  })
})

test('a write that waits keeps what it was called with', async () => {
  await withLevel({ valueEncoding: 'buffer' }, async db => {
    const value = Buffer.alloc(100, 'a')
    const writes = []
    for (let i = 0; i < 2000; i++) {
      value.fill(i % 251)
      writes.push(db.put(`${i}`, value, { sync: i % 400 === 0 }))
    }
    value.fill(255)
    await Promise.all(writes)
    for (let i = 0; i < 2000; i++) {
      assert.ok(db.getSync(`${i}`).equals(Buffer.alloc(100, i % 251)), `value ${i}`)
    }
  })
})

test('getMany reads thousands of keys as of one moment', async () => {
  await withLevel({}, async db => {
    const keys = Array.from({ length: 10000 }, (_, i) => `key ${i}`)
    const ops = value => keys.filter((_, i) => i % 2 === 0).map(key => ({ type: 'put', key, value }))
    await db.batch(ops('one'))
    const reads = [db.getMany(keys), db.getMany(keys.slice(0, 1000))]
    const write = db.batch(ops('two'))
    for (const values of await Promise.all(reads)) {
      const present = new Set(values.filter((_, i) => i % 2 === 0))
      assert.strictEqual(present.size, 1)
      assert.deepStrictEqual(new Set(values.filter((_, i) => i % 2 === 1)), new Set([undefined]))
    }
    await write
    assert.strictEqual((await db.getMany(keys, { valueEncoding: 'buffer' }))[9998].toString(), 'two')
  })
})

test('a get has the same result on its short way and through the encodings', async () => {
  for (const valueEncoding of [undefined, 'utf8', 'json', 'buffer']) {
    for (const keyEncoding of [undefined, 'utf8', 'json', 'buffer']) {
      const db = new Level(freshPath(), { keyEncoding, valueEncoding })
      const early = db.get('k')
      assert.strictEqual(await early, undefined)
      await db.put('k', '"1"', { valueEncoding: 'utf8' })
      const snapshot = db.snapshot()
      const first = { utf8: '"1"', json: '1', buffer: Buffer.from('"1"') }
      assert.deepStrictEqual(await db.get('k'), first[valueEncoding ?? 'utf8'])
      for (const asked in first) assert.deepStrictEqual(await db.get('k', { valueEncoding: asked }), first[asked])
      await db.put('k', '"2"', { valueEncoding: 'utf8' })
      const asked = { valueEncoding: 'buffer' }
      assert.deepStrictEqual(await db.get('k', { ...asked, snapshot }), first.buffer)
      assert.deepStrictEqual(await db.get('k', asked), Buffer.from('"2"'))
      assert.strictEqual(await db.get('missing', asked), undefined)
      const bytes = Buffer.from(keyEncoding === 'json' ? '"k"' : 'k')
      assert.deepStrictEqual(await db.get(bytes, { ...asked, keyEncoding: 'buffer' }), Buffer.from('"2"'))
      await snapshot.close()
      await db.close()
      for (const options of [undefined, asked]) {
        await assert.rejects(db.get('k', options), { code: 'LEVEL_DATABASE_NOT_OPEN' })
      }
    }
  }
})

test('an iterator sees the database as of its creation, and a snapshot longer', async () => {
  await withLevel({}, async db => {
    await db.put('a', 'old')
    const snapshot = db.snapshot()
    const iterator = db.iterator()
    await db.put('a', 'new')
    await db.put('b', 'new')
    assert.deepStrictEqual(await iterator.all(), [['a', 'old']])
    assert.strictEqual(db.getSync('a', { snapshot }), 'old')
    assert.deepStrictEqual(await db.getMany(['a', 'b'], { snapshot }), ['old', undefined])
    assert.deepStrictEqual(await db.hasMany(['a', 'b'], { snapshot }), [true, false])
    assert.strictEqual(await db.has('b', { snapshot }), false)
    assert.deepStrictEqual(await db.keys({ snapshot }).all(), ['a'])
    await db.clear({ snapshot })
    assert.deepStrictEqual(await db.keys().all(), ['b'])
    await snapshot.close()
    assert.throws(() => db.getSync('a', { snapshot }), { code: 'LEVEL_SNAPSHOT_NOT_OPEN' })
  })
})

test('sizes, compaction, properties', async () => {
  await withLevel({}, async db => {
    const value = 'v'.repeat(1000)
    await db.batch(Array.from({ length: 5000 }, (_, i) => ({ type: 'put', key: `k${i}`, value: value + i })))
    await db.compactRange('k', 'l')
    assert.ok(await db.approximateSize('k', 'l') > 0)
    assert.strictEqual(await db.approximateSize('x', 'y'), 0)
    assert.ok(JSON.parse(db.getProperty('cairndb.stats')))
    assert.strictEqual(db.getProperty('unknown'), '')
  })
})

test('errors have codes and say what to do', async () => {
  const location = freshPath()
  const db = new ClassicLevel(location)
  await assert.rejects(db.open({ createIfMissing: false }), err => {
    assert.strictEqual(err.cause.code, 'LEVEL_NOT_FOUND')
    return /does not exist, and createIfMissing is false/.test(err.cause.message)
  })
  await db.open()
  await assert.rejects(new Level(location).open(), { code: 'LEVEL_DATABASE_NOT_OPEN' })
  await db.close()
  const reader = new Level(location, { readOnly: true })
  await reader.open()
  await assert.rejects(reader.put('a', 'b'), { code: 'LEVEL_READ_ONLY' })
  assert.strictEqual(await reader.get('a'), undefined)
  await reader.close()
  await assert.rejects(new Level(location).open({ errorIfExists: true }), err => /exists/.test(err.cause.message))
  assert.throws(() => new Level(''), TypeError)
})

test('both kinds of modules have the classes', async () => {
  const package_ = await import('@cairndb/level')
  assert.strictEqual(package_.Level, Level)
  assert.strictEqual(package_.ClassicLevel, ClassicLevel)
})

test('destroy and repair', async () => {
  const location = freshPath()
  await Level.destroy(location)
  const db = new Level(location)
  await db.put('a', 'b')
  await db.close()
  await Level.repair(location)
  await db.open()
  assert.strictEqual(await db.get('a'), 'b')
  await db.close()
  await Level.destroy(location)
  await assert.rejects(Level.repair(location), { code: 'ENOENT' })
  await assert.rejects(db.open({ createIfMissing: false }))
})

test('a chained batch can be used after an operation that was refused', async () => {
  const db = new Level(freshPath(), { keyEncoding: 'buffer' })
  await db.open()
  const tooLong = { name: 'long', format: 'buffer', encode: () => ({ byteLength: 2 ** 30 + 1 }), decode: key => key }
  const batch = db.batch()
  batch.put(Buffer.from('a'), '1')
  assert.throws(() => batch.put('', 'x', { keyEncoding: tooLong }), { code: 'LEVEL_INVALID_ARGUMENT' })
  await batch.put(Buffer.from('b'), '2').del(Buffer.from('a')).write()
  assert.deepStrictEqual(await db.iterator().all(), [[Buffer.from('b'), '2']])
  await db.close()
})
