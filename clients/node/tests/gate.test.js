'use strict'

// Reads that find everything in memory are done at once, also on a machine with other work: a
// thread that loses the processor during a read has not waited for a disk.

const { test } = require('node:test')
const assert = require('node:assert')
const path = require('node:path')
const { spawn, spawnSync } = require('node:child_process')
const { Level } = require('@cairndb/level')
const { freshPath } = require('./support')

const TURNS = 200
const READS_IN_TURN = 1000
/** Programs that want the same processor. */
const RIVALS = 3

/** Runs in a child, on one processor: prints how many reads have run on the thread pool. */
async function countPooled () {
  const binding = require(path.join(path.dirname(require.resolve('@cairndb/level')), 'lib', 'binding'))
  const get = binding.get
  let handle
  binding.get = (...args) => {
    handle = args[0]
    return get(...args)
  }
  const db = new Level(freshPath())
  await db.put('k', 'v')
  await db.get('k')
  let pooled = 0
  for (let turn = 0; turn < TURNS; turn++) {
    for (let i = 0; i < READS_IN_TURN; i++) {
      // Not through `db`, so that the thread spends its time in reads.
      const found = get(handle, 0, 'k')
      if (found instanceof Promise) pooled++
      else assert.strictEqual(found, 'v')
    }
    await new Promise(setImmediate)
  }
  await db.close()
  process.stdout.write(String(pooled))
}

if (process.env.CAIRN_NODE_RIVALS) {
  countPooled()
} else {
  const pin = args => ['taskset', ['-c', '0', process.execPath, ...args]]
  const skip = spawnSync(...pin(['-e', ''])).status === 0 ? false : 'no taskset, or no processor 0'

  test('reads are done at once while other programs want the processor', { skip }, () => {
    const rivals = Array.from({ length: RIVALS }, () => spawn(...pin(['-e', 'for (;;);'])))
    try {
      const [command, args] = pin([__filename])
      const env = { ...process.env, CAIRN_NODE_RIVALS: '1' }
      const done = spawnSync(command, args, { encoding: 'utf8', env })
      assert.strictEqual(done.status, 0, done.stderr)
      // Some may have met a page of the program that was not in memory.
      const most = TURNS * READS_IN_TURN / 100
      assert.ok(Number(done.stdout) <= most, `${done.stdout} reads ran on the thread pool`)
    } finally {
      for (const rival of rivals) rival.kill('SIGKILL')
    }
  })
}
