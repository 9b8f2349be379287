'use strict'

// Followers: instances that read a database which another process, or another instance, writes.

const { test } = require('node:test')
const assert = require('node:assert')
const { fork } = require('node:child_process')
const { once } = require('node:events')
const { Worker } = require('node:worker_threads')
const { Level, ClassicLevel } = require('@cairndb/level')
const { freshPath, size } = require('./support')

const WRITES = size('CAIRN_NODE_OPS', 2000) / 10
const LIMIT = { timeout: 60000 }

/** What a child process does, by its name. */
const CHILDREN = {
  /** Answers each sequence number with the value that it waited for. */
  async follow (location) {
    const db = new Level(location, { follow: true })
    await db.open()
    const snapshot = db.snapshot()
    process.on('message', async sequenceNumber => {
      const reached = await db.waitFor(sequenceNumber, LIMIT)
      process.send({ reached, value: await db.get('key'), old: await db.get('key', { snapshot }) ?? null })
    })
    process.send(await db.hasWriter())
  },

  /** Writes each number, and answers with the write's sequence number. */
  async write (location) {
    const db = new Level(location)
    await db.open()
    process.on('message', async number => {
      await db.batch([{ type: 'put', key: 'key', value: `${number}` }, { type: 'put', key: `${number}`, value: '' }])
      process.send(db.sequenceNumber)
    })
    process.send('open')
  }
}

/** Follows, until it is terminated. */
const WORKER = `
  const { parentPort, workerData } = require('worker_threads')
  const { Level } = require(workerData.package)
  const db = new Level(workerData.location, { follow: true })
  db.get('a').then(value => {
    db.waitFor(1e9)
    parentPort.postMessage(value)
  })
`

/** Starts a child, which is killed at the end of the test. */
async function start (t, name, location) {
  const child = fork(__filename, ['child', name, location], {
    env: { ...process.env, NODE_TEST_CONTEXT: undefined }, execArgv: []
  })
  const ask = async message => {
    const answer = once(child, 'message')
    if (message !== undefined) child.send(message)
    return (await answer)[0]
  }
  const kill = async () => {
    const ended = once(child, 'exit')
    if (child.kill('SIGKILL')) await ended
  }
  t.after(kill)
  return { first: await ask(), ask, kill }
}

async function opened (location, options) {
  const db = new Level(location, options)
  await db.open()
  return db
}

function tests () {
  test('another process follows what this one writes, and is killed', async t => {
    const location = freshPath()
    const db = await opened(location)
    await db.put('key', 'first')
    const child = await start(t, 'follow', location)
    assert.strictEqual(child.first, true)
    for (let i = 0; i < WRITES; i++) {
      await db.put('key', `${i}`)
      assert.deepStrictEqual(await child.ask(db.sequenceNumber), { reached: true, value: `${i}`, old: 'first' })
    }
    await child.kill()
    await db.compactRange('', '~')
    await db.put('key', 'last')
    await db.close()
  })

  test('this process follows another, which is killed', async t => {
    const location = freshPath()
    const child = await start(t, 'write', location)
    const db = await opened(location, { follow: true })
    const manual = await opened(location, { follow: true, manualRefresh: true })
    assert.strictEqual(await db.hasWriter(), true)
    let newest
    for (let i = 0; i < WRITES; i++) {
      newest = await child.ask(i)
      assert.strictEqual(await db.get('key'), `${i}`)
    }
    assert.strictEqual(db.sequenceNumber, newest)
    assert.strictEqual((await db.keys().all()).length, WRITES + 1)
    assert.strictEqual(manual.sequenceNumber, 0)
    assert.strictEqual(await manual.get('key'), undefined)
    assert.strictEqual(await manual.waitFor(newest), true)
    assert.strictEqual(await manual.get('key'), `${WRITES - 1}`)
    await child.ask(WRITES)
    assert.strictEqual(await manual.get('key'), `${WRITES - 1}`)
    await manual.refresh()
    assert.strictEqual(await manual.get('key'), `${WRITES}`)
    const waits = db.waitFor(newest + 4, LIMIT)
    await child.ask('waited for')
    assert.strictEqual(await waits, true)
    await child.kill()
    assert.strictEqual(await db.hasWriter(), false)
    assert.strictEqual(await db.get('key'), 'waited for')
    // Another writer, in this process.
    const writer = await opened(location)
    await writer.put('key', 'here')
    assert.strictEqual(await db.hasWriter(), true)
    assert.strictEqual(await db.get('key'), 'here')
    await Promise.all([writer.close(), db.close(), manual.close()])
  })

  test('a writer and followers of one path in a process are not mixed up', async () => {
    const location = freshPath()
    for (const Class of [Level, ClassicLevel]) {
      const writer = new Class(location)
      await writer.put('a', '1')
      const followers = [1, 2].map(() => new Class(location, { follow: true }))
      await Promise.all(followers.map(follower => follower.open()))
      await assert.rejects(followers[0].put('a', '2'), { code: 'LEVEL_READ_ONLY' })
      await writer.put('a', '2')
      assert.deepStrictEqual(await Promise.all(followers.map(db => db.get('a'))), ['2', '2'])
      assert.strictEqual(followers[0].sequenceNumber, writer.sequenceNumber)
      await followers[0].close()
      await writer.put('a', '3')
      assert.strictEqual(await followers[1].get('a'), '3')
      // The follower stays when the writer goes, and does not keep it from coming back.
      await writer.close()
      assert.strictEqual(await followers[1].hasWriter(), false)
      assert.strictEqual(await followers[1].get('a'), '3')
      await writer.open()
      await writer.put('a', '4')
      assert.strictEqual(await followers[1].get('a'), '4')
      await Promise.all([writer.close(), followers[1].close()])
    }
    // Opened by a follower first.
    const follower = await opened(location, { follow: true })
    const writer = await opened(location)
    const users = await writer.createKeyspace('users')
    await users.put('ada', '1815')
    assert.strictEqual(await (await follower.keyspace('users')).get('ada'), '1815')
    await Promise.all([writer.close(), follower.close()])
  })

  test('threads share a follower, and one that is terminated leaves it open', async () => {
    const location = freshPath()
    const writer = await opened(location)
    await writer.put('a', '1')
    const db = await opened(location, { follow: true })
    const worker = new Worker(WORKER, { eval: true, workerData: { location, package: require.resolve('@cairndb/level') } })
    assert.deepStrictEqual(await once(worker, 'message'), ['1'])
    await worker.terminate()
    await writer.put('a', '2')
    assert.strictEqual(await db.get('a'), '2')
    await Promise.all([writer.close(), db.close()])
    const alone = new ClassicLevel(location)
    await alone.open()
    await alone.close()
  })

  test('instances with manualRefresh do not refresh each other', async () => {
    const location = freshPath()
    const writer = await opened(location)
    const [first, second] = await Promise.all([1, 2].map(() => opened(location, { follow: true, manualRefresh: true })))
    await writer.put('a', '1')
    await first.refresh()
    assert.deepStrictEqual([await first.get('a'), await second.get('a')], ['1', undefined])
    await Promise.all([writer.close(), first.close(), second.close()])
  })

  test('a wait ends with its time, its signal or its database', async () => {
    const location = freshPath()
    const writer = await opened(location)
    const db = await opened(location, { follow: true })
    assert.strictEqual(await db.waitFor(0), true)
    assert.strictEqual(await db.waitFor(1, { timeout: 0 }), false)
    assert.strictEqual(await db.waitFor(1, { timeout: 5 }), false)
    await assert.rejects(db.waitFor(1, { signal: AbortSignal.abort() }), { name: 'AbortError' })
    const controller = new AbortController()
    const aborted = db.waitFor(1, { signal: controller.signal })
    controller.abort(new Error('as planned'))
    await assert.rejects(aborted, err => err.code === 'LEVEL_ABORTED' && err.cause.message === 'as planned')
    for (const wrong of [undefined, -1, 0.5, 1n, '1']) await assert.rejects(db.waitFor(wrong), TypeError)
    await assert.rejects(db.waitFor(1, { timeout: NaN }), TypeError)
    await assert.rejects(db.waitFor(1, { timeuot: 1 }), /did you mean 'timeout'/)
    const waits = assert.rejects(db.waitFor(1), { code: 'LEVEL_DATABASE_NOT_OPEN' })
    await db.close()
    await waits
    await writer.close()
  })

  test('calls for followers need an open follower', async () => {
    const location = freshPath()
    const missing = new Level(location, { follow: true })
    await assert.rejects(missing.open(), err => {
      assert.strictEqual(err.cause.code, 'LEVEL_NOT_FOUND')
      return /an open that only reads creates none/.test(err.cause.message)
    })
    const db = new Level(location)
    assert.throws(() => db.sequenceNumber, { code: 'LEVEL_DATABASE_NOT_OPEN' })
    for (const call of ['refresh', 'hasWriter', 'waitFor']) {
      // Before the database is open, a call waits for that.
      await assert.rejects(db[call](0), { code: 'LEVEL_INVALID_ARGUMENT' }, call)
      assert.throws(() => db[call](0, () => {}), { code: 'LEVEL_LEGACY' }, call)
    }
    await db.close()
    for (const call of ['refresh', 'hasWriter', 'waitFor']) {
      await assert.rejects(db[call](0), { code: 'LEVEL_DATABASE_NOT_OPEN' }, call)
    }
  })

  test('a writer revokes what takes more space than it is to keep', async () => {
    const location = freshPath()
    const writer = await opened(location, { readerSpaceMax: 0 })
    for (let i = 0; i < 1000; i++) await writer.put(`${i}`, 'v'.repeat(1000))
    await writer.compactRange('', '~')
    const db = await opened(location, { follow: true, readerLease: 60000 })
    const snapshot = db.snapshot()
    assert.strictEqual((await db.keys({ snapshot }).all()).length, 1000)
    for (let i = 0; i < 1000; i++) await writer.put(`${i}`, 'w'.repeat(1000))
    let failed
    // The writer looks for what takes space in the background.
    for (let round = 0; failed === undefined && round < 1000; round++) {
      await writer.compactRange('', '~')
      await writer.put('round', `${round}`)
      await db.get('7', { snapshot }).catch(err => { failed = err })
    }
    assert.strictEqual(failed?.code, 'LEVEL_REVOKED')
    assert.strictEqual(await db.get('7'), 'w'.repeat(1000))
    await snapshot.close()
    await Promise.all([writer.close(), db.close()])
  })
}

if (process.argv[2] === 'child') {
  CHILDREN[process.argv[3]](process.argv[4])
} else {
  tests()
}
