import {
  AbstractBatchOperation,
  AbstractBatchOptions,
  AbstractChainedBatch,
  AbstractChainedBatchDelOptions,
  AbstractChainedBatchPutOptions,
  AbstractChainedBatchWriteOptions,
  AbstractClearOptions,
  AbstractDatabaseOptions,
  AbstractDelOptions,
  AbstractGetManyOptions,
  AbstractGetOptions,
  AbstractHasManyOptions,
  AbstractHasOptions,
  AbstractIterator,
  AbstractIteratorOptions,
  AbstractKeyIterator,
  AbstractKeyIteratorOptions,
  AbstractLevel,
  AbstractOpenOptions,
  AbstractPutOptions,
  AbstractSnapshot,
  AbstractValueIterator,
  AbstractValueIteratorOptions,
  Transcoder
} from 'abstract-level'
import { Readable } from 'stream'

/**
 * The keys of a database or a keyspace.
 *
 * @template KDefault The type of keys, unless an operation names another encoding.
 * @template VDefault The type of values, likewise.
 */
export class Keys<KDefault = string, VDefault = string>
  extends AbstractLevel<string | Buffer | Uint8Array, KDefault, VDefault> {
  /**
   * Returns the value of `key`, or `undefined`. A value in memory is read at once, others on a thread
   * of Node's pool.
   */
  get (key: KDefault): Promise<VDefault | undefined>
  get<K = KDefault, V = VDefault> (key: K, options: GetOptions<K, V>): Promise<V | undefined>

  /** Returns the value of `key`, or `undefined`. Waits for the disk if it has to. */
  getSync (key: KDefault): VDefault | undefined
  getSync<K = KDefault, V = VDefault> (key: K, options: GetOptions<K, V>): V | undefined

  /** Returns the values of `keys`, all as of the same moment. */
  getMany (keys: KDefault[]): Promise<(VDefault | undefined)[]>
  getMany<K = KDefault, V = VDefault> (keys: K[], options: GetManyOptions<K, V>): Promise<(V | undefined)[]>

  has (key: KDefault): Promise<boolean>
  has<K = KDefault> (key: K, options: HasOptions<K>): Promise<boolean>

  hasMany (keys: KDefault[]): Promise<boolean[]>
  hasMany<K = KDefault> (keys: K[], options: HasManyOptions<K>): Promise<boolean[]>

  /**
   * Sets `key`, of at most 64 MiB, to `value`, of at most 1 GiB. Writes take effect in the order of
   * their calls.
   */
  put (key: KDefault, value: VDefault): Promise<void>
  put<K = KDefault, V = VDefault> (key: K, value: V, options: PutOptions<K, V>): Promise<void>

  del (key: KDefault): Promise<void>
  del<K = KDefault> (key: K, options: DelOptions<K>): Promise<void>

  /** Makes all operations or none. */
  batch (operations: Array<BatchOperation<typeof this, KDefault, VDefault>>): Promise<void>
  batch<K = KDefault, V = VDefault> (operations: Array<BatchOperation<typeof this, K, V>>, options: BatchOptions<K, V>): Promise<void>
  batch (): ChainedBatch<typeof this, KDefault, VDefault>

  iterator (): Iterator<typeof this, KDefault, VDefault>
  iterator<K = KDefault, V = VDefault> (options: IteratorOptions<K, V>): Iterator<typeof this, K, V>

  keys (): KeyIterator<typeof this, KDefault>
  keys<K = KDefault> (options: KeyIteratorOptions<K>): KeyIterator<typeof this, K>

  values (): ValueIterator<typeof this, KDefault, VDefault>
  values<K = KDefault, V = VDefault> (options: ValueIteratorOptions<K, V>): ValueIterator<typeof this, K, V>

  /** Returns the database as it is now, for the option `snapshot` of reads. Close it after use. */
  snapshot (options?: any | undefined): Snapshot

  /** Returns about how many bytes the keys from `start` to `end` take on disk. */
  approximateSize (start: KDefault, end: KDefault): Promise<number>
  approximateSize<K = KDefault> (start: K, end: K, options: RangeOptions<K>): Promise<number>

  /**
   * Rewrites the entries from `start` to `end` as one sorted run. An idle database does so by itself;
   * the call is for a program that is about to read very much.
   */
  compactRange (start: KDefault, end: KDefault): Promise<void>
  compactRange<K = KDefault> (start: K, end: K, options: RangeOptions<K> & LongCallOptions): Promise<void>

  /**
   * Deletes the entries of a range, those that were written before the call. Without `limit` and
   * `snapshot` it takes constant time.
   */
  clear (): Promise<void>
  clear<K = KDefault> (options: ClearOptions<K>): Promise<void>
}

/**
 * A named set of keys in a database: also an `abstract-level` database. Batches and snapshots
 * span keyspaces.
 *
 * ```js
 * const users = await db.createKeyspace('users', { valueEncoding: 'json' })
 * await db.batch([
 *   { type: 'put', key: 'users', value: '1' },
 *   { type: 'put', key: 'ada', value: { born: 1815 }, keyspace: users }
 * ])
 * ```
 */
export class Keyspace<KDefault = string, VDefault = string> extends Keys<KDefault, VDefault> {
  private constructor ()

  get name (): string
}

/**
 * A database in a directory, with the interface of `abstract-level`.
 *
 * ```js
 * const db = new Level('stones', { valueEncoding: 'json' })
 * await db.put('granite', { colour: 'grey' })
 * for await (const [stone, { colour }] of db.iterator({ gte: 'g' })) console.log(stone, colour)
 * ```
 *
 * All instances in a process that have the same location share one database, in worker threads too;
 * the options of the first that is opened count. Other processes cannot open it meanwhile, unless all
 * of them open it with `readOnly`, or they follow it with `follow`.
 *
 * @template KDefault The type of keys, unless an operation names another encoding.
 * @template VDefault The type of values, likewise.
 */
export class Level<KDefault = string, VDefault = string> extends Keys<KDefault, VDefault> {
  /**
   * @param location Directory, which is created together with its parents if it is missing.
   * @param options Options, also of {@link open}, which the database calls itself.
   */
  constructor (location: string, options?: DatabaseOptions<KDefault, VDefault> | undefined)

  /** The location as given. */
  get location (): string

  open (): Promise<void>
  open (options: OpenOptions): Promise<void>

  /** Returns the keyspace `name`, which is closed with the database. Rejects if there is none. */
  keyspace (name: string): Promise<Keyspace>
  keyspace<K = string, V = string> (
    name: string, options: AbstractDatabaseOptions<K, V>
  ): Promise<Keyspace<K, V>>

  /** Creates a keyspace, durably. Its name has 1 to 255 bytes. */
  createKeyspace (name: string): Promise<Keyspace>
  createKeyspace<K = string, V = string> (
    name: string, options: KeyspaceOptions<K, V>
  ): Promise<Keyspace<K, V>>

  /**
   * Drops a keyspace with all its entries, durably, after the writes that were called before. Later
   * operations on it are rejected; iterators go on.
   */
  dropKeyspace (name: string): Promise<void>

  /** Returns the names of the keyspaces, in order. */
  keyspaces (): Promise<string[]>

  /**
   * Creates a database at `location`, which must be missing or empty, with all that was written before
   * the call, or with what a snapshot has. It shares the files of this one through hard links; from
   * then on each of the two changes without the other. Files that cannot be linked are cloned or
   * copied, as the report says.
   *
   * ```js
   * await db.put('granite', 'grey')
   * const { shared } = await db.fork('trial')
   * const trial = new Level('trial')
   * ```
   */
  fork (location: string, options?: ForkOptions | undefined): Promise<ForkReport>

  /**
   * Iterates over what is written: every batch, whole and in order, as it becomes durable. Begins after
   * the place `after`; by default after what the `lease` has acknowledged or, without one, where the
   * database is when {@link Changes.open} resolves.
   *
   * Rejects with `LEVEL_REVOKED` if changes after the place are gone, or writes before it were lost:
   * begin again with {@link snapshotAndChanges}. With `LEVEL_INVALID_ARGUMENT` if the place is of
   * another database, or for an impossible lease; with `LEVEL_READ_ONLY`.
   *
   * ```js
   * for await (const change of db.changes({ lease: 'index' })) console.log(change.place, change.kind)
   * ```
   */
  changes<K = KDefault, V = VDefault> (options?: ChangesOptions<K, V> | undefined): Changes<K, V>

  /**
   * Takes a snapshot, and opens the changes that follow it. A lease begins again there, and `after` is
   * ignored. Flushes, so that the snapshot shows only what is durable.
   */
  snapshotAndChanges<K = KDefault, V = VDefault> (
    options?: ChangesOptions<K, V> | undefined
  ): Promise<{ snapshot: Snapshot, changes: Changes<K, V> }>

  /** Resolves to the place after everything written so far. Syncs. */
  place (): Promise<string>

  /** Resolves to the leases, for which the log is kept. */
  leases (): Promise<Lease[]>

  /** Drops a lease, and frees what was kept for it. Rejects if there is none. */
  dropLease (name: string): Promise<void>

  /** Returns a property as text, or an empty string if there is none of this name. */
  getProperty (property: string): string

  /**
   * The sequence number of the newest write that reads see. Each entry of a batch takes one number.
   * After a write, it is that of the write or of a later one, for {@link waitFor} in another process.
   */
  get sequenceNumber (): number

  /**
   * Looks for new writes, in a database opened with `follow`: reads after this see everything that was
   * acknowledged before it. Without `manualRefresh` each read does so itself.
   */
  refresh (): Promise<void>

  /**
   * Waits until reads see everything up to a sequence number that {@link sequenceNumber} was in the
   * process that writes, in a database opened with `follow`. Resolves to whether they do; to `false`
   * only after the timeout.
   *
   * ```js
   * process.on('message', async ({ key, sequenceNumber }) => {
   *   if (await follower.waitFor(sequenceNumber, { timeout: 1000 })) console.log(await follower.get(key))
   * })
   * ```
   */
  waitFor (sequenceNumber: number, options?: WaitOptions | undefined): Promise<boolean>

  /**
   * Returns whether a process has the database open for writing, in a database opened with `follow`.
   * While there is none, reads see the last state.
   */
  hasWriter (): Promise<boolean>

  /** Removes a database, of CairnDB or LevelDB. Other files in the directory stay. */
  static destroy (location: string): Promise<void>

  /**
   * Repairs a database: what is intact goes into a new directory, which gets the name `location`. The
   * damaged one stays beside it, as `location.damaged-1`.
   */
  static repair (location: string, options?: LongCallOptions | undefined): Promise<void>
}

/**
 * The class of the package `classic-level`, for programs that were written for it. It differs from
 * {@link Level} in that a second instance is refused, unless both have `multithreading: true`.
 */
export class ClassicLevel<KDefault = string, VDefault = string> extends Level<KDefault, VDefault> {}

/**
 * Yields the keys whose values differ in two databases, as of the first step: those of the databases
 * themselves in order, then those of the keyspaces by name. Of a database and its fork, the files that
 * both share are skipped, as long as they are most of both; otherwise both are read whole.
 *
 * Rejects with `LEVEL_INVALID_ARGUMENT` if a keyspace has different orders in the two, and with
 * `LEVEL_DATABASE_NOT_OPEN` once either is closed.
 *
 * ```js
 * for await (const { key, before, after } of diff(db, trial)) console.log(key, before, after)
 * ```
 *
 * @param options Encodings, by default those of `before`; keyspaces have the same.
 */
export function diff<K = string, V = string> (
  before: Level<K, V>, after: Level<any, any>, options?: SignalOptions | undefined
): AsyncGenerator<Difference<K, V>, void, undefined>
export function diff<K = string, V = string> (
  before: Level<any, any>, after: Level<any, any>, options: DiffOptions<K, V>
): AsyncGenerator<Difference<K, V>, void, undefined>

/** A key whose values differ. */
export interface Difference<K, V> {
  /** The name of the keyspace; `undefined` for the keys of the database itself. */
  keyspace: string | undefined
  key: K
  /** The value in the first database, or `undefined`. */
  before: V | undefined
  /** The value in the second database, or `undefined`. */
  after: V | undefined
}

export interface DiffOptions<K, V> extends SignalOptions {
  keyEncoding?: string | Transcoder.PartialDecoder<K> | undefined
  valueEncoding?: string | Transcoder.PartialDecoder<V> | undefined
}

export interface ChangesOptions<K, V> extends DiffOptions<K, V> {
  /** The place to begin after, which an earlier change had. */
  after?: string | undefined
  /**
   * Keeps the log under this name, of 1 to 255 bytes, from what was acknowledged on, also while the
   * database is closed.
   */
  lease?: string | undefined
  /**
   * Bytes that are kept at most. Past that, the consumer gets `LEVEL_REVOKED`. A lease that exists
   * keeps its limit.
   * @defaultValue 1 GiB
   */
  bytesMax?: number | undefined
  /**
   * When a change is delivered: `sync` once no loss of power takes it back, `os` as soon as readers see
   * it.
   * @defaultValue `sync`
   */
  durability?: 'os' | 'sync' | undefined
  /**
   * Milliseconds after which writes are synced, at most 100.
   * @defaultValue 100
   */
  syncInterval?: number | undefined
}

/** The changes of a database, in order. Close it: what it has not delivered is kept. */
export interface Changes<K, V> extends AsyncIterableIterator<Change<K, V>> {
  /** The place after the last change that was delivered; `undefined` before it is open. */
  get place (): string | undefined
  /** Resolves when it is open: what is written from then on is delivered. */
  open (): Promise<void>
  /** Waits for the next change; `done` once it is closed. */
  next (): Promise<IteratorResult<Change<K, V>, undefined>>
  return (): Promise<IteratorResult<Change<K, V>, undefined>>
  /**
   * Records that what was made of the changes up to `place` is stored: the lease keeps only what
   * follows. It is durable after some time, so store the place as well, with what was made of them.
   */
  acknowledge (place: string): Promise<void>
  /** Returns a stream of the changes, in object mode, whose end closes this. */
  stream (): Readable
  /** Ends it. A call of `next` that waits resolves. */
  close (): Promise<void>
}

/** What changes of all kinds have. */
export interface ChangeParts {
  /** The place after the change. */
  place: string
  /** Time of the write to within 100 ms; `undefined` if nobody needed the changes then. */
  time: Date | undefined
  /** `sync` if no loss of power takes the change back. */
  durability: 'os' | 'sync'
}

/** A change: a batch or a single write, whole; writes that were not logged; or of a keyspace. */
export type Change<K, V> = ChangeParts & (
  | { kind: 'batch', entries: Array<ChangedEntry<K, V>> }
  | { kind: 'unlogged', count: number }
  | { kind: 'keyspaceCreated' | 'keyspaceDropped', keyspace: string }
)

/** An entry of a batch. The name of its keyspace is `undefined` for the database itself. */
export type ChangedEntry<K, V> = { keyspace: string | undefined } & (
  | { type: 'put', key: K, value: V }
  | { type: 'del', key: K }
  /** Not decoded. */
  | { type: 'merge', key: K, operand: Buffer }
  /** Without an end if `to` is `undefined`. */
  | { type: 'deleteRange', from: K, to: K | undefined }
)

export interface Lease {
  name: string
  /** Up to where its consumer has acknowledged. */
  place: string
  /** Whether its limit was exceeded, so that nothing is kept for it any more. */
  fellOff: boolean
}

export interface ForkOptions extends LongCallOptions {
  /** A snapshot of the database, of whose moment the fork is. */
  snapshot?: Snapshot | undefined
}

/** How a fork has come to its files: tables and files of large values. */
export interface ForkReport {
  /** Number of files that are shared through hard links. */
  shared: number
  /** Number of files that could not be linked, and are clones that share blocks. */
  cloned: number
  /** Number of files that could be neither linked nor cloned, and were copied. */
  copied: number
  /** Bytes of the copied files. */
  copiedBytes: number
}

export interface DatabaseOptions<K, V>
  extends AbstractDatabaseOptions<K, V>, Omit<OpenOptions, 'passive'> {}

/** Options of a keyspace when it is created. */
export interface KeyspaceOptions<K, V> extends AbstractDatabaseOptions<K, V> {
  /**
   * Whether values are compressed.
   * @defaultValue that of the database
   */
  compression?: boolean | undefined

  /** About how long the values are. Keyspaces with very different values do not share tables. */
  valueBytes?: number | undefined
}

/** Options of calls that may take long. */
export interface LongCallOptions extends SignalOptions {
  /**
   * Called every tenth of a second or so, and at the end, with the number of bytes that were read or
   * written, which never decreases, and an estimate of all of them: 0 while it is not known.
   */
  onProgress?: ((done: number, total: number) => void) | undefined
}

export interface SignalOptions {
  /**
   * Aborts the call, which then rejects within a few milliseconds of work with an `AbortError`, of the
   * code `LEVEL_ABORTED`; the reason is its `cause`. The database can be used, and the call repeated.
   */
  signal?: AbortSignal | undefined
}

export interface WaitOptions extends SignalOptions {
  /**
   * Milliseconds to wait at most.
   * @defaultValue no limit
   */
  timeout?: number | undefined
}

export interface OpenOptions extends AbstractOpenOptions, LongCallOptions {
  /**
   * Whether other instances in this process may have the database open. Instances with `follow` share
   * only with each other.
   * @defaultValue `true` for `Level`, `false` for `ClassicLevel`
   */
  multithreading?: boolean | undefined

  /**
   * Whether a LevelDB directory is converted, in place. LevelDB's files stay in the subdirectory
   * `leveldb-original`, which may be removed. Without it, such a directory is refused.
   * @defaultValue `false`, because LevelDB cannot read the result
   */
  upgrade?: boolean | undefined

  /**
   * Whether a LevelDB directory is converted although a log that its manifest names is missing.
   * @defaultValue `false`, because every write in that log is lost
   */
  upgradeWithoutLog?: boolean | undefined

  /**
   * Whether the database is only read. Any number of processes can read it at a time.
   * @defaultValue `false`
   */
  readOnly?: boolean | undefined

  /**
   * Whether the database is only read, while another process, or another instance, may write it. Any
   * number of processes may follow, and none keeps a writer out. Each read outside a snapshot sees
   * every write whose promise was resolved before. Without a writer, reads see the last state, until
   * one comes. Nothing is created, except for the file `SHARED` in the database.
   * @defaultValue `false`
   */
  follow?: boolean | undefined

  /**
   * With `follow`: whether reads see the state of the last {@link Level.refresh} or
   * {@link Level.waitFor}, instead of the newest one. Such an instance is not shared.
   * @defaultValue `false`
   */
  manualRefresh?: boolean | undefined

  /**
   * With `follow`: for how many milliseconds files are held after the last look for new writes. After
   * that, a writer that has removed them from the database may revoke snapshots and iterators, whose
   * reads then reject with `LEVEL_REVOKED`.
   * @defaultValue no limit in time; then only the writer's `readerSpaceMax` revokes anything
   */
  readerLease?: number | undefined

  /**
   * Bytes of the files that a writer keeps only because others follow it. Beyond that, it revokes the
   * oldest snapshots and iterators of theirs.
   * @defaultValue as many as the tables take, but at least 1 GiB
   */
  readerSpaceMax?: number | undefined

  /**
   * Whether values are compressed.
   * @defaultValue `true`
   */
  compression?: boolean | undefined

  /**
   * Bytes of memory for memtables, caches and compactions, at least 262144.
   * @defaultValue 64 MiB; if `cacheSize` or `writeBufferSize` is given, `cacheSize` and twice
   * `writeBufferSize`
   */
  memory?: number | undefined

  /**
   * Part of the memory, as LevelDB divides it. See `memory`.
   * @defaultValue 8 MiB if `writeBufferSize` is given
   */
  cacheSize?: number | undefined

  /**
   * Part of the memory, as LevelDB divides it. See `memory`.
   * @defaultValue 4 MiB if `cacheSize` is given
   */
  writeBufferSize?: number | undefined

  /** Accepted and ignored: the length of pages is chosen by the data. */
  blockSize?: number | undefined
  /** Accepted and ignored: files are opened as needed. */
  maxOpenFiles?: number | undefined
  /** Accepted and ignored: keys are stored without restart points. */
  blockRestartInterval?: number | undefined
  /** Accepted and ignored: the length of tables is derived from the memory. */
  maxFileSize?: number | undefined
}

/** Options of reads that `classic-level` has. */
export interface ReadOptions {
  /** Accepted and ignored: the operating system's cache holds what was read. */
  fillCache?: boolean | undefined
}

export interface GetOptions<K, V> extends AbstractGetOptions<K, V>, ReadOptions {}
export interface GetManyOptions<K, V> extends AbstractGetManyOptions<K, V>, ReadOptions {}
export interface HasOptions<K> extends AbstractHasOptions<K>, ReadOptions {}
export interface HasManyOptions<K> extends AbstractHasManyOptions<K>, ReadOptions {}

/** Options of all iterators. */
export interface AdditionalIteratorOptions extends ReadOptions {
  /**
   * Bytes after which a chunk of entries ends, which `next()` reads ahead and `nextv()` returns. The
   * entry that exceeds them is the last.
   * @defaultValue 16 KiB
   */
  highWaterMarkBytes?: number | undefined
}

/** Options of writes. */
export interface WriteOptions {
  /**
   * Whether the write survives a power failure once its promise is resolved. Otherwise it survives the
   * death of the process. Durable writes that are called at once share a sync.
   * @defaultValue `false`
   */
  sync?: boolean | undefined
}

export interface PutOptions<K, V> extends AbstractPutOptions<K, V>, WriteOptions {}
export interface DelOptions<K> extends AbstractDelOptions<K>, WriteOptions {}
export interface BatchOptions<K, V> extends AbstractBatchOptions<K, V>, WriteOptions {}
export interface ChainedBatchWriteOptions extends AbstractChainedBatchWriteOptions, WriteOptions {}

export interface ChainedBatch<TDatabase, KDefault, VDefault>
  extends AbstractChainedBatch<TDatabase, KDefault, VDefault> {
  put (key: KDefault, value: VDefault): this
  put<K = KDefault, V = VDefault> (
    key: K, value: V, options: AbstractChainedBatchPutOptions<TDatabase, K, V> & InKeyspace
  ): this
  del (key: KDefault): this
  del<K = KDefault> (
    key: K, options: AbstractChainedBatchDelOptions<TDatabase, K> & InKeyspace
  ): this
  write (): Promise<void>
  write (options: ChainedBatchWriteOptions): Promise<void>
}

/** Option of an operation of a batch. */
export interface InKeyspace {
  /** The keyspace of the operation, whose encodings it has. By default, that of the batch. */
  keyspace?: Keyspace<any, any> | Level<any, any> | undefined
}

export interface RangeOptions<K> {
  /** The encoding of `start` and `end`. */
  keyEncoding?: string | Transcoder.PartialEncoder<K> | undefined
}

export type ClearOptions<K> = AbstractClearOptions<K> & SignalOptions
export type BatchOperation<TDatabase, K, V> = AbstractBatchOperation<TDatabase, K, V> & InKeyspace
export type Iterator<TDatabase, K, V> = AbstractIterator<TDatabase, K, V>
export type KeyIterator<TDatabase, K> = AbstractKeyIterator<TDatabase, K>
export type ValueIterator<TDatabase, K, V> = AbstractValueIterator<TDatabase, K, V>
export type IteratorOptions<K, V> = AbstractIteratorOptions<K, V> & AdditionalIteratorOptions
export type KeyIteratorOptions<K> = AbstractKeyIteratorOptions<K> & AdditionalIteratorOptions
export type ValueIteratorOptions<K, V> = AbstractValueIteratorOptions<K, V> & AdditionalIteratorOptions
export type Snapshot = AbstractSnapshot
