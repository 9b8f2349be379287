// Compiled, not run: every call has the types that it should have.

import { Level, Change, ClassicLevel, Difference, ForkReport, Keyspace, Lease, OpenOptions, IteratorOptions, Snapshot, diff } from '@cairndb/level'

interface Stone {
  colour: string
}

async function main (): Promise<void> {
  const options: OpenOptions = { signal: AbortSignal.timeout(1000), upgrade: true, memory: 1 << 20, readOnly: false, multithreading: true }
  const db = new Level<string, Stone>('stones', { valueEncoding: 'json', ...options })
  const location: string = db.location
  await db.put('granite', { colour: 'grey' }, { sync: true })
  const stone: Stone | undefined = await db.get('granite')
  const again: Stone | undefined = db.getSync('granite')
  const many: Array<Stone | undefined> = await db.getMany(['granite', 'opal'])
  const bytes = await db.get<string, Buffer>('granite', { valueEncoding: 'buffer', fillCache: true })
  const there: boolean = await db.has('granite')
  await db.batch([{ type: 'put', key: 'slate', value: { colour: 'blue' } }, { type: 'del', key: 'opal' }], { sync: true })
  await db.batch().put('shale', { colour: 'black' }).write({ sync: true })
  const range: IteratorOptions<string, Stone> = { gte: 'a', reverse: true, limit: 3, highWaterMarkBytes: 1024 }
  for await (const [key, { colour }] of db.iterator(range)) console.log(key.length, colour.length)
  const keys: string[] = await db.keys().all()
  const values: Stone[] = await db.values().all()
  const snapshot: Snapshot = db.snapshot()
  const { signal } = new AbortController()
  await db.clear({ gt: 'x', snapshot, signal })
  const report: ForkReport = await db.fork('trial', { snapshot, signal, onProgress: (done, total) => console.log(done / total) })
  const trial = new Level<string, Stone>('trial', { valueEncoding: 'json' })
  for await (const it of diff(db, trial, { signal })) {
    const typed: Difference<string, Stone> = it
    console.log(report.copiedBytes, typed.keyspace, typed.key.length, typed.before?.colour)
  }
  for await (const { key, after } of diff<Buffer, Buffer>(db, trial, { keyEncoding: 'buffer', valueEncoding: 'buffer' })) {
    console.log(key.byteLength, after?.byteLength)
  }
  const changes = db.changes({ lease: 'index', after: await db.place(), bytesMax: 1 << 30, durability: 'os', syncInterval: 10, signal })
  await changes.open()
  for await (const change of changes) {
    const typed: Change<string, Stone> = change
    const time: Date | undefined = typed.time
    if (change.kind === 'batch') {
      for (const entry of change.entries) if (entry.type === 'put') console.log(time, entry.key.length, entry.value.colour)
    }
    await changes.acknowledge(change.place)
  }
  const both = await db.snapshotAndChanges<Buffer, Buffer>({ keyEncoding: 'buffer', valueEncoding: 'buffer' })
  both.changes.stream().on('data', (change: Change<Buffer, Buffer>) => console.log(change.place))
  await both.changes.close()
  await both.snapshot.close()
  const leases: Lease[] = await db.leases()
  await db.dropLease(leases[0].name)
  await snapshot.close()
  const size: number = await db.approximateSize('a', 'z')
  await db.compactRange('a', 'z', { signal, onProgress: (done, total) => console.log(done / total) })
  const follower = new Level<string, Stone>(location, { follow: true, manualRefresh: true, readerLease: 1000, readerSpaceMax: 1 << 30 })
  const newest: number = db.sequenceNumber
  await follower.refresh()
  const seen: boolean = await follower.waitFor(newest, { timeout: 1000, signal })
  const written: boolean = seen && await follower.waitFor(newest) && await follower.hasWriter()
  console.log(written)
  const users: Keyspace<string, Stone> = await db.createKeyspace<string, Stone>('users', { valueEncoding: 'json', compression: false, valueBytes: 100 })
  await users.put('ada', { colour: 'none' })
  const same: Keyspace = await db.keyspace('users')
  await db.batch([{ type: 'put', key: 'a', value: { colour: 'grey' }, keyspace: users }, { type: 'del', key: 'b', keyspace: same }])
  await users.batch().put('a', 'b', { keyspace: same, valueEncoding: 'utf8' }).del('c', { keyspace: db }).write()
  await db.dropKeyspace(users.name)
  const names: string[] = await db.keyspaces()
  console.log(names)
  const property: string = db.getProperty('cairndb.stats')
  const sublevel = db.sublevel<string, Stone>('igneous', { valueEncoding: 'json' })
  await sublevel.put('basalt', { colour: 'dark' })
  console.log(location, stone, again, many, bytes?.byteLength, there, keys, values, size, property)
  await db.close()
  const classic = new ClassicLevel('stones', { cacheSize: 1, writeBufferSize: 2, blockSize: 3, maxOpenFiles: 4, blockRestartInterval: 5, maxFileSize: 6, compression: false })
  const text: string | undefined = await classic.get('a')
  // @ts-expect-error: the key is a string
  await classic.get(1)
  console.log(text)
  await ClassicLevel.repair('stones', { signal })
  await ClassicLevel.destroy('stones')
}

main()
