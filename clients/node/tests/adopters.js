'use strict'

// Packages over `level` and `abstract-level`, unmodified, in a project whose `classic-level` is ours.

const { test } = require('node:test')
const assert = require('node:assert')
const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const http = require('node:http')
const os = require('node:os')
const path = require('node:path')
const { once } = require('node:events')
const { ClassicLevel } = require('classic-level')

const directory = () => fs.mkdtempSync(path.join(os.tmpdir(), 'adopter-'))

/** Fails unless a database of ours is at `location`, closed, with at least so many entries. */
async function checkOurs (location, least) {
  const db = new ClassicLevel(location, { createIfMissing: false })
  await db.open()
  assert.ok(JSON.parse(db.getProperty('cairndb.stats')))
  const keys = await db.keys().all()
  assert.ok(keys.length >= least, `${keys.length} keys`)
  await db.close()
}

for (const version of [8, 9, 10]) {
  test(`level ${version}`, async () => {
    const { Level } = require(`level${version}`)
    assert.strictEqual(Level, ClassicLevel)
    const location = directory()
    const db = new Level(location, { valueEncoding: 'json' })
    await db.batch([{ type: 'put', key: 'a', value: 1 }, { type: 'put', key: 'b', value: [2] }])
    assert.deepStrictEqual(await db.iterator({ reverse: true }).all(), [['b', [2]], ['a', 1]])
    await db.close()
    await checkOurs(location, 2)
  })
}

test('rave-level, which passes callbacks, ends with advice and does not hang', () => {
  const program = `
    const { RaveLevel } = require('rave-level')
    new RaveLevel(${JSON.stringify(directory())}).put('a', 'b')
  `
  const { status, stderr } = spawnSync(process.execPath, ['-e', program], {
    cwd: __dirname, encoding: 'utf8', timeout: 60000
  })
  assert.strictEqual(status, 1, stderr)
  assert.match(stderr, /takes no callback.*await the promise/)
  assert.match(stderr, /LEVEL_LEGACY/)
})

test('dynalite', async () => {
  const location = directory()
  const server = require('dynalite')({ path: location, createTableMs: 0 })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  async function call (action, body) {
    const request = http.request({
      port: server.address().port,
      method: 'POST',
      headers: {
        'X-Amz-Target': `DynamoDB_20120810.${action}`,
        'Content-Type': 'application/x-amz-json-1.0',
        'X-Amz-Date': '20260101T000000Z',
        Authorization: 'AWS4-HMAC-SHA256 Credential=a/20260101/local/dynamodb/aws4_request, SignedHeaders=host, Signature=b'
      }
    })
    request.end(JSON.stringify(body))
    const [response] = await once(request, 'response')
    let text = ''
    for await (const piece of response) text += piece
    assert.strictEqual(response.statusCode, 200, `${action}: ${text}`)
    return JSON.parse(text)
  }
  await call('CreateTable', {
    TableName: 'stones',
    AttributeDefinitions: [{ AttributeName: 'name', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'name', KeyType: 'HASH' }],
    ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 }
  })
  let status
  while (status !== 'ACTIVE') status = (await call('DescribeTable', { TableName: 'stones' })).Table.TableStatus
  for (let i = 0; i < 20; i++) {
    await call('PutItem', { TableName: 'stones', Item: { name: { S: `stone ${i}` }, weight: { N: `${i}` } } })
  }
  await call('DeleteItem', { TableName: 'stones', Key: { name: { S: 'stone 7' } } })
  const { Item } = await call('GetItem', { TableName: 'stones', Key: { name: { S: 'stone 3' } } })
  assert.deepStrictEqual(Item, { name: { S: 'stone 3' }, weight: { N: '3' } })
  assert.strictEqual((await call('Scan', { TableName: 'stones' })).Count, 19)
  await new Promise(resolve => server.close(resolve))
  await checkOurs(location, 20)
})

test('quadstore', async () => {
  const { Quadstore } = require('quadstore')
  const { DataFactory } = require('rdf-data-factory')
  const location = directory()
  const dataFactory = new DataFactory()
  const store = new Quadstore({ backend: new ClassicLevel(location), dataFactory })
  await store.open()
  const node = name => dataFactory.namedNode(`http://example.com/${name}`)
  const quads = Array.from({ length: 100 }, (_, i) => {
    return dataFactory.quad(node(`stone${i}`), node('colour'), dataFactory.literal(i % 2 ? 'grey' : 'blue'))
  })
  await store.multiPut(quads)
  await store.del(quads[1])
  const { items } = await store.get({ object: dataFactory.literal('grey') })
  assert.strictEqual(items.length, 49)
  const range = await store.get({ subject: quads[3].subject })
  assert.ok(range.items[0].equals(quads[3]))
  await store.close()
  await checkOurs(location, 99)
})

test('datastore-level', async () => {
  const { LevelDatastore } = await import('datastore-level')
  const { Key } = await import('interface-datastore')
  const location = directory()
  const store = new LevelDatastore(location)
  await store.open()
  const bytes = text => new TextEncoder().encode(text)
  for (let i = 0; i < 100; i++) await store.put(new Key(`/stones/${i}`), bytes(`stone ${i}`))
  assert.deepStrictEqual(Buffer.from(await store.get(new Key('/stones/5'))).toString(), 'stone 5')
  await store.delete(new Key('/stones/5'))
  await assert.rejects(store.get(new Key('/stones/5')), { name: 'NotFoundError' })
  const batch = store.batch()
  batch.put(new Key('/other/1'), bytes('other'))
  await batch.commit()
  let count = 0
  for await (const { value } of store.query({ prefix: '/stones' })) count += value.length > 0 ? 1 : 0
  assert.strictEqual(count, 99)
  await store.close()
  await checkOurs(location, 100)
})

test('y-leveldb', async () => {
  const Y = require('yjs')
  const { LeveldbPersistence } = require('y-leveldb')
  const location = directory()
  const persistence = new LeveldbPersistence(location)
  const doc = new Y.Doc()
  const updates = []
  doc.on('update', update => updates.push(update))
  for (let i = 0; i < 50; i++) doc.getArray('stones').push([`stone ${i}`])
  for (const update of updates) await persistence.storeUpdate('doc', update)
  const again = await persistence.getYDoc('doc')
  assert.deepStrictEqual(again.getArray('stones').toArray(), doc.getArray('stones').toArray())
  await persistence.flushDocument('doc')
  assert.deepStrictEqual(await persistence.getAllDocNames(), ['doc'])
  await persistence.setMeta('doc', 'colour', 'grey')
  assert.strictEqual(await persistence.getMeta('doc', 'colour'), 'grey')
  assert.strictEqual(await persistence.getMeta('doc', 'absent'), undefined)
  assert.strictEqual((await persistence.getYDoc('absent')).getArray('stones').length, 0)
  assert.ok(await persistence.getStateVector('absent'))
  await persistence.clearDocument('doc')
  assert.strictEqual((await persistence.getYDoc('doc')).getArray('stones').length, 0)
  await persistence.destroy()
  await checkOurs(location, 0)
})
