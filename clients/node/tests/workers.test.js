'use strict'

// One database in several threads of a process, and threads that end in the midst of it.

const { test } = require('node:test')
const assert = require('node:assert')
const { once } = require('node:events')
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads')
const { Level, ClassicLevel } = require('@cairndb/level')
const { freshPath, size } = require('./support')

const ROUNDS = size('CAIRN_NODE_ROUNDS', 3)

async function work () {
  const { location, id, count, task } = workerData
  const db = new Level(location)
  await db.open()
  if (task === 'write') {
    for (let i = 0; i < count; i++) await db.put(`${id} ${i}`, `${i}`, { sync: i % 100 === 0 })
    const seen = await db.keys({ gte: `${id} `, lt: `${id}!` }).all()
    await db.close()
    parentPort.postMessage(seen.length)
    return
  }
  // Ends by being terminated, with reads, writes and a compaction under way.
  const iterator = db.iterator({ highWaterMarkBytes: 0 })
  await iterator.next()
  parentPort.postMessage('busy')
  for (let i = 0; ; i++) {
    const reads = [db.get(`0 ${i}`), db.put(`${id} x`, 'y', { sync: true }), iterator.next()]
    if (i % 50 === 0) reads.push(db.compactRange('0', '9'))
    await Promise.all(reads)
  }
}

function start (data) {
  return new Worker(__filename, { workerData: data })
}

if (!isMainThread && workerData?.location) {
  work()
} else {
  test('threads share a database', async () => {
    const location = freshPath()
    const db = new Level(location)
    await db.open()
    const count = 1000
    const workers = [1, 2, 3].map(id => start({ location, id, count, task: 'write' }))
    const messages = workers.map(worker => once(worker, 'message'))
    for (let i = 0; i < count; i++) await db.put(`0 ${i}`, `${i}`)
    assert.deepStrictEqual(await Promise.all(messages), [[count], [count], [count]])
    await Promise.all(workers.map(worker => worker.terminate()))
    assert.strictEqual((await db.keys().all()).length, 4 * count)
    await db.close()
    // The last close has closed the database, or this would be refused.
    const alone = new ClassicLevel(location)
    await alone.open()
    assert.strictEqual(await alone.get('3 999'), '999')
    await alone.close()
  })

  test('threads that are terminated leave the database usable', async () => {
    const location = freshPath()
    const db = new Level(location)
    for (let i = 0; i < 500; i++) await db.put(`0 ${i}`, 'v'.repeat(100))
    for (let round = 0; round < ROUNDS; round++) {
      const workers = [1, 2].map(id => start({ location, id, task: 'busy' }))
      await Promise.all(workers.map(worker => once(worker, 'message')))
      await Promise.all(workers.map(worker => worker.terminate()))
      assert.strictEqual(await db.get('0 7'), 'v'.repeat(100))
    }
    await db.close()
    const alone = new ClassicLevel(location)
    await alone.open()
    await alone.close()
  })

  test('a handle that is closed leaves those of others open', async () => {
    const location = freshPath()
    const [first, second] = [new Level(location), new Level(location)]
    await first.put('a', 'b')
    await second.open()
    await first.close()
    assert.strictEqual(await second.get('a'), 'b')
    await assert.rejects(new ClassicLevel(location).open(), err => err.cause.code === 'LEVEL_LOCKED')
    await Promise.all([second.close(), first.open().then(() => first.close())])
  })
}
