'use strict'

// The suite of `abstract-level` over the package `level`, in whose project `classic-level` is ours.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { Level } = require('level')
const { EntryStream } = require('level-read-stream')
const test = require('tape')

const factory = options => new Level(fs.mkdtempSync(path.join(os.tmpdir(), 'level-')), options)

test('level is over @cairndb/level', async t => {
  const db = factory()
  await db.open()
  t.ok(JSON.parse(db.getProperty('cairndb.stats')))
  t.is(Level, require('classic-level').ClassicLevel)
  await db.batch([{ type: 'put', key: 'a', value: '1' }, { type: 'put', key: 'b', value: '2' }])
  const entries = []
  for await (const { key, value } of new EntryStream(db)) entries.push([key, value])
  t.same(entries, [['a', '1'], ['b', '2']])
  await db.close()
})

require('abstract-level/test')({ test, factory })
