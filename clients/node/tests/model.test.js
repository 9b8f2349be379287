'use strict'

// Random operations beside a sorted array in JavaScript, with reads of ranges in both directions,
// through both paths: on the event loop's thread, and, after a reopen, on the thread pool.

const { test } = require('node:test')
const assert = require('node:assert')
const { Level } = require('@cairndb/level')
const { freshPath, Random, size } = require('./support')

const OPS = size('CAIRN_NODE_OPS', 2000)

const KEYS = Array.from({ length: 300 }, (_, i) => (i * 7919 % 1000).toString(36).padStart(2 + i % 3, 'é'))
const ENCODINGS = ['utf8', 'buffer', 'view']

/** Orders strings as their UTF-8 bytes. */
function byBytes (a, b) {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function encoded (text, encoding) {
  if (encoding === 'utf8') return text
  return encoding === 'buffer' ? Buffer.from(text) : new Uint8Array(Buffer.from(text))
}

function decoded (data) {
  return data === undefined || typeof data === 'string' ? data : Buffer.from(data).toString()
}

class Run {
  constructor (db, random) {
    this.db = db
    this.random = random
    this.model = new Map()
  }

  encodings () {
    return { keyEncoding: this.random.pick(ENCODINGS), valueEncoding: this.random.pick(ENCODINGS) }
  }

  value () {
    return this.random.pick(['', 'v', 'ü', 'x'.repeat(100)]) + this.random.below(1e9)
  }

  async write () {
    const { random, model } = this
    const count = random.pick([1, 1, 1, 5, 40])
    const chained = random.below(2) === 0 ? this.db.batch() : null
    const ops = []
    for (let i = 0; i < count; i++) {
      const options = this.encodings()
      const key = random.pick(KEYS)
      if (random.below(3) === 0) {
        model.delete(key)
        const given = encoded(key, options.keyEncoding)
        if (count === 1) await this.db.del(given, options)
        else if (chained) chained.del(given, options)
        else ops.push({ ...options, type: 'del', key: given })
      } else {
        const value = this.value()
        model.set(key, value)
        const [given, content] = [encoded(key, options.keyEncoding), encoded(value, options.valueEncoding)]
        if (count === 1) await this.db.put(given, content, options)
        else if (chained) chained.put(given, content, options)
        else ops.push({ ...options, type: 'put', key: given, value: content })
      }
    }
    if (chained) await chained.write()
    else if (ops.length > 0) await this.db.batch(ops, { sync: random.below(20) === 0 })
  }

  async readSome () {
    const options = this.encodings()
    const keys = Array.from({ length: this.random.pick([1, 3, 100]) }, () => this.random.pick(KEYS))
    const given = keys.map(key => encoded(key, options.keyEncoding))
    const wanted = keys.map(key => this.model.get(key))
    assert.deepStrictEqual((await this.db.getMany(given, options)).map(decoded), wanted)
    assert.deepStrictEqual(await this.db.hasMany(given, options), wanted.map(value => value !== undefined))
    assert.strictEqual(decoded(await this.db.get(given[0], options)), wanted[0])
    assert.strictEqual(decoded(this.db.getSync(given[0], options)), wanted[0])
    assert.strictEqual(await this.db.has(given[0], options), wanted[0] !== undefined)
  }

  range () {
    const { random } = this
    const range = {}
    if (random.below(2)) range[random.pick(['gt', 'gte'])] = random.pick(KEYS)
    if (random.below(2)) range[random.pick(['lt', 'lte'])] = random.pick(KEYS)
    const inside = key => (range.gt === undefined || byBytes(key, range.gt) > 0) &&
      (range.gte === undefined || byBytes(key, range.gte) >= 0) &&
      (range.lt === undefined || byBytes(key, range.lt) < 0) &&
      (range.lte === undefined || byBytes(key, range.lte) <= 0)
    const options = { ...this.encodings(), reverse: random.below(2) === 0 }
    if (random.below(3) === 0) options.limit = random.below(20)
    for (const name in range) options[name] = encoded(range[name], options.keyEncoding)
    const entries = [...this.model].filter(([key]) => inside(key)).sort(([a], [b]) => byBytes(a, b))
    if (options.reverse) entries.reverse()
    return { options, entries: entries.slice(0, options.limit) }
  }

  async scan () {
    const { options, entries } = this.range()
    if (this.random.below(2)) options.highWaterMarkBytes = this.random.below(500)
    const kind = this.random.pick(['iterator', 'keys', 'values'])
    const part = { iterator: entry => entry, keys: ([key]) => key, values: ([, value]) => value }[kind]
    const iterator = this.db[kind](options)
    const found = []
    const way = this.random.below(3)
    if (way === 0) {
      for await (const item of iterator) found.push(item)
    } else if (way === 1) {
      if (this.random.below(2)) {
        const item = await iterator.next()
        if (item !== undefined) found.push(item)
      }
      found.push(...await iterator.all())
    } else {
      for (let items; (items = await iterator.nextv(1 + this.random.below(50))).length > 0;) found.push(...items)
      await iterator.close()
    }
    const plain = kind === 'iterator' ? found.map(entry => entry.map(decoded)) : found.map(decoded)
    assert.deepStrictEqual(plain, entries.map(part))
  }

  async seek () {
    const { options, entries } = this.range()
    const iterator = this.db.iterator({ ...options, limit: -1 })
    const all = { ...options, entries: [...entries] }
    const target = this.random.pick(KEYS)
    if (options.limit !== undefined) return iterator.close()
    if (this.random.below(2)) await iterator.next()
    iterator.seek(encoded(target, options.keyEncoding))
    const found = await iterator.next()
    const after = ([key]) => options.reverse ? byBytes(key, target) <= 0 : byBytes(key, target) >= 0
    // A target outside of the range ends the iterator.
    const bounds = { gt: 1, gte: 0, lt: -1, lte: 0 }
    const inside = Object.entries(bounds).every(([name, least]) => {
      if (options[name] === undefined) return true
      const order = byBytes(target, decoded(options[name]))
      return name[0] === 'g' ? order >= least : order <= least
    })
    const wanted = inside ? all.entries.find(after) : undefined
    assert.deepStrictEqual(found?.map(decoded), wanted)
    await iterator.close()
  }

  async clear () {
    const { options, entries } = this.range()
    await this.db.clear(options)
    for (const [key] of entries) this.model.delete(key)
  }
}

test('random operations agree with a model', async () => {
  const random = new Random()
  const db = new Level(freshPath(), { memory: 512 << 10 })
  const run = new Run(db, random)
  await db.open()
  try {
    for (let op = 0; op < OPS; op++) {
      const dice = random.below(100)
      if (dice < 50) await run.write()
      else if (dice < 70) await run.readSome()
      else if (dice < 90) await run.scan()
      else if (dice < 97) await run.seek()
      else if (dice < 98) await run.clear()
      else if (op % 200 === 0) {
        await db.close()
        await db.open()
      }
    }
    await db.close()
  } catch (err) {
    err.message += ` (CAIRN_SEED=${random.seed})`
    throw err
  }
})
