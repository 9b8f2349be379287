'use strict'

// Directories that LevelDB wrote, through the package `classic-level`, and packages over ours.

const fs = require('node:fs')
const path = require('node:path')
const { test } = require('node:test')
const assert = require('node:assert')
const { ClassicLevel: Original } = require('classic-level')
const { EntryStream } = require('level-read-stream')
const { Level, ClassicLevel } = require('@cairndb/level')
const { freshPath } = require('./support')

async function writeWithLevelDB (location) {
  const db = new Original(location)
  const ops = Array.from({ length: 3000 }, (_, i) => ({ type: 'put', key: `k${i}`, value: `value ${i}` }))
  await db.batch(ops)
  await db.del('k7')
  await db.sublevel('sub', { valueEncoding: 'json' }).put('a', { b: 1 })
  await db.close()
}

for (const Class of [Level, ClassicLevel]) {
  test(`${Class.name} converts a LevelDB directory if it is asked to`, async () => {
    const location = freshPath()
    await writeWithLevelDB(location)
    await assert.rejects(new Class(location).open(), err => {
      assert.strictEqual(err.cause.code, 'LEVEL_INVALID_ARGUMENT')
      return err.cause.message.includes('LevelDB') && err.cause.message.includes('{ upgrade: true }')
    })
    const db = new Class(location, { upgrade: true })
    await db.open()
    assert.strictEqual((await db.keys({ gte: 'k', lt: 'l' }).all()).length, 2999)
    assert.strictEqual(await db.get('k2999'), 'value 2999')
    assert.deepStrictEqual(await db.sublevel('sub', { valueEncoding: 'json' }).get('a'), { b: 1 })
    await db.close()
    // Afterwards the option does nothing.
    await db.open()
    await db.close()
    await Class.destroy(location)
  })
}

test('a LevelDB directory without its log is converted only if that is asked for', async () => {
  const location = freshPath()
  await writeWithLevelDB(location)
  for (const name of fs.readdirSync(location)) {
    if (name.endsWith('.log')) fs.unlinkSync(path.join(location, name))
  }
  await assert.rejects(new ClassicLevel(location, { upgrade: true }).open(), err => {
    return err.cause.code === 'LEVEL_CORRUPTION' && err.cause.message.includes('.log')
  })
  const db = new ClassicLevel(location, { upgrade: true, upgradeWithoutLog: true })
  await db.open()
  assert.strictEqual(await db.get('k1'), undefined)
  await db.close()
})

test('destroy removes a LevelDB directory', async () => {
  const location = freshPath()
  await writeWithLevelDB(location)
  await ClassicLevel.destroy(location)
  await assert.rejects(new Original(location).open({ createIfMissing: false }))
})

test('level-read-stream reads all entries', async () => {
  const db = new Level(freshPath())
  const ops = Array.from({ length: 5000 }, (_, i) => ({ type: 'put', key: String(i).padStart(5, '0'), value: `${i}` }))
  await db.batch(ops)
  let count = 0
  for await (const { key, value } of new EntryStream(db)) {
    assert.strictEqual(key, String(count).padStart(5, '0'))
    assert.strictEqual(value, String(count++))
  }
  assert.strictEqual(count, 5000)
  await db.close()
})
