// Compares the speed of @cairndb/level with classic-level, lmdb and better-sqlite3.
//
//     node bench/speed.mjs [--entries=N] [--rounds=N] [--only=NAME,...] [--folder=PATH]
//
// Run by `check.mjs speed`, which installs the packages. Every store has string keys of 16 characters
// and string values of 100, and the durability that a write survives the death of the process, not a
// power failure: LevelDB without `sync`, LMDB with `noSync`, SQLite with `synchronous = OFF`. The
// stores take turns within each round; a row shows the median of the rounds.

import fs from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'

const require = createRequire(path.join(process.cwd(), 'package.json'))
const options = Object.fromEntries(process.argv.slice(2).map(argument => argument.replace(/^--/, '').split('=')))
const ENTRIES = Number(options.entries || 100000)
const ROUNDS = Number(options.rounds || 5)
const BATCH = 1000

const key = i => String(i).padStart(16, '0')
const value = i => (String(i) + ',').repeat(50).slice(0, 100)

/** Numbers below `ENTRIES` in an order that looks random, each once. */
function shuffled (seed) {
  const order = Array.from({ length: ENTRIES }, (_, i) => i)
  let state = seed
  for (let i = ENTRIES - 1; i > 0; i--) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    const j = Math.floor(state / 0x100000000 * (i + 1))
    ;[order[i], order[j]] = [order[j], order[i]]
  }
  return order
}

const ORDER = shuffled(42)
const KEYS = ORDER.map(key)
const VALUES = ORDER.map(value)

/** Checks an answer, so that no store is fast because it does nothing. */
function expect (found, wanted) {
  if (found !== wanted) throw new Error(`found ${found}, not ${wanted}`)
}

/** Both packages with the interface of `abstract-level`. */
class LevelStore {
  constructor (Class, folder) {
    this.db = new Class(folder)
  }

  open () { return this.db.open() }
  close () { return this.db.close() }

  async put () {
    for (let i = 0; i < ENTRIES; i++) await this.db.put(KEYS[i], VALUES[i])
  }

  async putAtOnce () {
    for (let start = 0; start < ENTRIES; start += BATCH) {
      const puts = []
      for (let i = start; i < start + BATCH; i++) puts.push(this.db.put(KEYS[i], VALUES[i]))
      await Promise.all(puts)
    }
  }

  async batch () {
    for (let start = 0; start < ENTRIES; start += BATCH) {
      const ops = []
      for (let i = start; i < start + BATCH; i++) ops.push({ type: 'put', key: KEYS[i], value: VALUES[i] })
      await this.db.batch(ops)
    }
  }

  async chained () {
    for (let start = 0; start < ENTRIES; start += BATCH) {
      const batch = this.db.batch()
      for (let i = start; i < start + BATCH; i++) batch.put(KEYS[i], VALUES[i])
      await batch.write()
    }
  }

  async get () {
    for (let i = 0; i < ENTRIES; i++) expect(await this.db.get(KEYS[i]), VALUES[i])
  }

  async getSync () {
    for (let i = 0; i < ENTRIES; i++) expect(this.db.getSync(KEYS[i]), VALUES[i])
  }

  async getBuffer () {
    for (let i = 0; i < ENTRIES; i++) expect((await this.db.get(KEYS[i], { valueEncoding: 'buffer' })).length, 100)
  }

  async getMany () {
    for (let start = 0; start < ENTRIES; start += BATCH) {
      const found = await this.db.getMany(KEYS.slice(start, start + BATCH))
      for (let i = 0; i < BATCH; i++) expect(found[i], VALUES[start + i])
    }
  }

  async iterate () {
    let count = 0
    for await (const [, value] of this.db.iterator()) count += value.length
    expect(count, ENTRIES * 100)
  }

  async all () {
    expect((await this.db.iterator().all()).length, ENTRIES)
  }

  async nextv () {
    const iterator = this.db.iterator()
    let count = 0
    for (let items; (items = await iterator.nextv(1000)).length > 0;) count += items.length
    await iterator.close()
    expect(count, ENTRIES)
  }

  async prefix () {
    for (let i = 0; i < ENTRIES / 10; i++) {
      const prefix = KEYS[i].slice(0, 15)
      expect((await this.db.iterator({ gte: prefix, lt: prefix + ':' }).all()).length, 10)
    }
  }
}

class LmdbStore {
  constructor (folder) {
    // Strings, as in the other stores, rather than the default, msgpack.
    this.settings = { path: folder, encoding: 'string', noSync: true }
  }

  open () { this.db = require('lmdb').open(this.settings) }
  close () { return this.db.close() }

  async put () {
    // A put is visible to its process at once; waiting for each would measure a commit for each.
    let last
    for (let i = 0; i < ENTRIES; i++) last = this.db.put(KEYS[i], VALUES[i])
    await last
  }

  async putAtOnce () {
    for (let start = 0; start < ENTRIES; start += BATCH) {
      const puts = []
      for (let i = start; i < start + BATCH; i++) puts.push(this.db.put(KEYS[i], VALUES[i]))
      await Promise.all(puts)
    }
  }

  async batch () {
    for (let start = 0; start < ENTRIES; start += BATCH) {
      await this.db.batch(() => {
        for (let i = start; i < start + BATCH; i++) this.db.put(KEYS[i], VALUES[i])
      })
    }
  }

  async chained () {
    for (let start = 0; start < ENTRIES; start += BATCH) {
      this.db.transactionSync(() => {
        for (let i = start; i < start + BATCH; i++) this.db.putSync(KEYS[i], VALUES[i])
      })
    }
  }

  async get () {
    for (let i = 0; i < ENTRIES; i++) expect(await this.db.get(KEYS[i]), VALUES[i])
  }

  async getSync () {
    for (let i = 0; i < ENTRIES; i++) expect(this.db.get(KEYS[i]), VALUES[i])
  }

  async getBuffer () {
    for (let i = 0; i < ENTRIES; i++) expect((await this.db.getBinary(KEYS[i])).length, 100)
  }

  async getMany () {
    for (let start = 0; start < ENTRIES; start += BATCH) {
      const found = await this.db.getMany(KEYS.slice(start, start + BATCH))
      for (let i = 0; i < BATCH; i++) expect(found[i], VALUES[start + i])
    }
  }

  async iterate () {
    let count = 0
    for await (const { value } of this.db.getRange()) count += value.length
    expect(count, ENTRIES * 100)
  }

  async all () {
    expect(this.db.getRange().asArray.length, ENTRIES)
  }

  async nextv () {
    let count = 0
    for (const { value } of this.db.getRange()) count += value.length
    expect(count, ENTRIES * 100)
  }

  async prefix () {
    for (let i = 0; i < ENTRIES / 10; i++) {
      const prefix = KEYS[i].slice(0, 15)
      expect(this.db.getRange({ start: prefix, end: prefix + ':' }).asArray.length, 10)
    }
  }
}

class SqliteStore {
  constructor (folder) {
    this.file = path.join(folder, 'db.sqlite')
    fs.mkdirSync(folder, { recursive: true })
  }

  open () {
    this.db = new (require('better-sqlite3'))(this.file)
    this.db.pragma('journal_mode = WAL')
    this.db.pragma('synchronous = OFF')
    this.db.exec('CREATE TABLE IF NOT EXISTS kv (k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID')
    const prepare = text => this.db.prepare(text)
    this.insert = prepare('INSERT INTO kv VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v')
    this.select = prepare('SELECT v FROM kv WHERE k = ?').pluck()
    this.bytes = prepare('SELECT CAST(v AS BLOB) FROM kv WHERE k = ?').pluck()
    this.scan = prepare('SELECT k, v FROM kv ORDER BY k').raw()
    this.range = prepare('SELECT k, v FROM kv WHERE k >= ? AND k < ? ORDER BY k').raw()
    this.many = this.db.transaction(start => {
      for (let i = start; i < start + BATCH; i++) this.insert.run(KEYS[i], VALUES[i])
    })
  }

  close () { this.db.close() }

  async put () {
    for (let i = 0; i < ENTRIES; i++) this.insert.run(KEYS[i], VALUES[i])
  }

  putAtOnce () { return this.put() }

  async batch () {
    for (let start = 0; start < ENTRIES; start += BATCH) this.many(start)
  }

  chained () { return this.batch() }

  async get () {
    for (let i = 0; i < ENTRIES; i++) expect(this.select.get(KEYS[i]), VALUES[i])
  }

  getSync () { return this.get() }

  async getBuffer () {
    for (let i = 0; i < ENTRIES; i++) expect(this.bytes.get(KEYS[i]).length, 100)
  }

  async getMany () {
    for (let start = 0; start < ENTRIES; start += BATCH) {
      for (let i = start; i < start + BATCH; i++) expect(this.select.get(KEYS[i]), VALUES[i])
    }
  }

  async iterate () {
    let count = 0
    for (const [, value] of this.scan.iterate()) count += value.length
    expect(count, ENTRIES * 100)
  }

  async all () { expect(this.scan.all().length, ENTRIES) }

  nextv () { return this.all() }

  async prefix () {
    for (let i = 0; i < ENTRIES / 10; i++) {
      const prefix = KEYS[i].slice(0, 15)
      expect(this.range.all(prefix, prefix + ':').length, 10)
    }
  }
}

const STORES = {
  cairndb: folder => new LevelStore(require('@cairndb/level').Level, folder),
  'classic-level': folder => new LevelStore(require('classic-level').ClassicLevel, folder),
  lmdb: folder => new LmdbStore(folder),
  'better-sqlite3': folder => new SqliteStore(folder)
}

/** Rows that write, each into an empty database, and rows that read what the last of them wrote. */
const WRITES = ['put', 'putAtOnce', 'chained', 'batch']
const READS = ['get', 'getSync', 'getBuffer', 'getMany', 'iterate', 'nextv', 'all', 'prefix']
const LABELS = {
  put: 'put, one after the other',
  putAtOnce: `put, ${BATCH} at once`,
  chained: `chained batch of ${BATCH}`,
  batch: `batch of ${BATCH}`,
  get: 'await get',
  getSync: 'getSync',
  getBuffer: 'await get of a Buffer',
  getMany: `getMany of ${BATCH}`,
  iterate: 'for await over entries',
  nextv: 'nextv(1000)',
  all: 'all()',
  prefix: 'scans of 10 entries'
}

function median (numbers) {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

async function round (results, parent) {
  for (const [name, make] of Object.entries(STORES)) {
    if (options.only && !options.only.split(',').includes(name)) continue
    let store = null
    let folder = null
    const begin = async () => {
      folder = fs.mkdtempSync(path.join(parent, 'speed-'))
      store = make(path.join(folder, 'db'))
      await store.open()
    }
    const end = async () => {
      await store.close()
      fs.rmSync(folder, { recursive: true })
    }
    for (const row of [...WRITES, ...READS]) {
      if (WRITES.includes(row)) {
        if (store !== null) await end()
        await begin()
      }
      global.gc?.()
      const started = process.hrtime.bigint()
      await store[row]()
      const seconds = Number(process.hrtime.bigint() - started) / 1e9
      ;((results[row] ??= {})[name] ??= []).push(ENTRIES / seconds)
    }
    await end()
  }
}

const parent = options.folder || os.tmpdir()
const results = {}
for (let i = 0; i < ROUNDS; i++) {
  await round(results, parent)
  process.stderr.write(`round ${i + 1} of ${ROUNDS}\n`)
}
const names = Object.keys(results.put)
console.log(`Thousand entries a second: ${ENTRIES} entries, median of ${ROUNDS} rounds`)
console.log(['row'.padEnd(26), ...names.map(name => name.padStart(15))].join(''), '   x classic', '   x lmdb')
for (const [row, found] of Object.entries(results)) {
  const speeds = Object.fromEntries(names.map(name => [name, median(found[name])]))
  const ratio = name => speeds[name] ? (speeds.cairndb / speeds[name]).toFixed(2).padStart(12) : ''
  const columns = names.map(name => Math.round(speeds[name] / 1000).toString().padStart(15))
  console.log(LABELS[row].padEnd(26) + columns.join(''), ratio('classic-level'), ratio('lmdb'))
}
