'use strict'

// Processes that end in the midst of something: none may crash, and what they wrote must be there.

const { test } = require('node:test')
const assert = require('node:assert')
const { spawn } = require('node:child_process')
const { Level } = require('@cairndb/level')
const { freshPath, size } = require('./support')

const ROUNDS = size('CAIRN_NODE_ROUNDS', 1)

/** How the child goes on after it has written, and with which code it ends. */
const ENDS = {
  'returns with an open iterator': ['await db.iterator({ highWaterMarkBytes: 0 }).next()', 0],
  'returns while an iterator is read': ['db.iterator().next()', 0],
  'returns with an open snapshot and batch': ['db.snapshot(); db.batch().put("x", "y")', 0],
  'returns while the database is closed': ['db.iterator().next(); db.close()', 0],
  'returns while a cold database is read': [
    'await db.close(); await db.open(); for (let i = 0; i < 50; i++) db.get("k" + i); db.iterator().next()', 0],
  'exits with an open iterator': ['await db.iterator({ highWaterMarkBytes: 0 }).next(); process.exit(7)', 7],
  'exits while work runs': [
    'db.compactRange("a", "z"); db.clear({ gte: "x" }); db.put("z", "z", { sync: true }); db.iterator().all(); process.exit(7)', 7],
  'exits while it opens another': ['new Level(location + "2").open(); process.exit(7)', 7],
  'exits while it follows itself': [
    'const f = new Level(location, { follow: true }); await f.get("k1"); f.snapshot(); f.waitFor(1e9); setImmediate(() => process.exit(7))', 7],
  'throws with an open iterator': ['db.iterator().next(); setImmediate(() => { throw new Error("as planned") })', 1]
}

const PROGRAM = end => `
  const { Level } = require('@cairndb/level')
  const location = process.argv[1]
  async function main () {
    const db = new Level(location)
    await db.batch(Array.from({ length: 2000 }, (_, i) => ({ type: 'put', key: 'k' + i, value: 'v'.repeat(100) })))
    ${end}
  }
  main()
`

async function runChild (end, location) {
  const child = spawn(process.execPath, ['-e', PROGRAM(end), location], {
    cwd: __dirname,
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  let text = ''
  child.stderr.setEncoding('utf8').on('data', data => { text += data })
  const [code, signal] = await new Promise(resolve => child.on('close', (...how) => resolve(how)))
  return { code, signal, text }
}

for (const [name, [end, wanted]] of Object.entries(ENDS)) {
  test(`a process that ${name}`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const location = freshPath()
      const { code, signal, text } = await runChild(end, location)
      assert.deepStrictEqual({ code, signal }, { code: wanted, signal: null }, text)
      const db = new Level(location)
      assert.strictEqual(await db.get('k1999'), 'v'.repeat(100))
      await db.close()
    }
  })
}
