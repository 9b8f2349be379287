'use strict'

const { AbstractLevel, AbstractSnapshot } = require('abstract-level')
const ModuleError = require('module-error')
const binding = require('./binding')
const { ChainedBatch } = require('./chained-batch')
const { collectSingly } = require('./collect')
const { KEY_BYTES, VALUE_BYTES, SYNC, SNAPSHOT, TEXT, BYTES } = require('./flags')
const { guard, RESOURCE, STORE } = require('./guard')
const { Iterator, KeyIterator, ValueIterator } = require('./iterator')
const { bounds } = require('./range')
const { slab, take } = require('./slab')
const { Staging } = require('./staging')
const { kHandle, inKeyspace, target } = require('./target')
const { mayRun, inTurn, spendLength, later, afterWaiting, drained } = require('./turn')
const { watched } = require('./watch')

/** Values of a `getMany` from the thread pool that are passed on in one turn. */
const VALUES_AT_ONCE = 2048

const MANIFEST = {
  encodings: { buffer: true, utf8: true, view: true },
  has: true,
  createIfMissing: true,
  errorIfExists: true,
  explicitSnapshots: true,
  getSync: true,
  additionalMethods: { approximateSize: true, compactRange: true },
  signals: { iterators: true }
}

const kSnapshot = Symbol('snapshot')
const kOpen = Symbol('open')
const kClose = Symbol('close')
/** For calls that end before another one begins. */
const staging = new Staging()

/** Appends to a staging area, which is left empty if one of them is refused. */
function stage (to, append) {
  try {
    append()
  } catch (err) {
    to.clear()
    throw err
  }
}

/** Returns the keys for one call of the addon. */
function staged (keys) {
  stage(staging, () => {
    for (const key of keys) staging.append(key)
  })
  const { lengths, count, text, bytes } = staging
  staging.clear()
  return { lengths, count, text, bytes }
}

/** Returns a key or value that the caller may change while the operation waits. */
function kept (data) {
  return typeof data === 'string' ? data : new Uint8Array(data)
}

/** Passes many keys to `read`: now if the turn has time, or else copies of them in a later one. */
function manyInTurn (keys, read) {
  if (mayRun(keys.length)) return read(keys)
  const copies = keys.map(kept)
  return later(() => read(copies), keys.length)
}

class Snapshot extends AbstractSnapshot {
  constructor (handle, options, taken = binding.snapshotNew(handle)) {
    super(options)
    this[kSnapshot] = taken
  }

  async _close () {
    binding.snapshotClose(this[kSnapshot])
  }
}

/** Returns the flags of a read and its snapshot. */
function readFlags (options) {
  let flags = 0
  if (options.keyEncoding !== 'utf8') flags |= KEY_BYTES
  if (options.valueEncoding !== 'utf8') flags |= VALUE_BYTES
  if (options.snapshot != null) flags |= SNAPSHOT
  return flags
}

/** Returns whether an encoding is the default, which leaves strings as they are. */
function isPlain (encoding) {
  return encoding == null || encoding === '' || encoding === 'utf8'
}

/** The keys of a database or a keyspace. A derived class opens and closes the handle. */
class Keys extends AbstractLevel {
  #handle = null
  /** Strings are keys as they are, and values. */
  #plainKeys
  #plainValues

  constructor (options) {
    super(MANIFEST, options)
    this.#plainKeys = isPlain(options?.keyEncoding)
    this.#plainValues = isPlain(options?.valueEncoding)
  }

  /** The state that the addon has of it; `null` before it is open. */
  get [kHandle] () {
    return this.#handle
  }

  async _open (options) {
    this.#handle = await this[kOpen](options)
  }

  async _close () {
    await drained()
    await this[kClose](this.#handle)
  }

  /**
   * As in `abstract-level`, which copies the options and awaits a promise for each get. Where
   * neither keys nor values have to be encoded, that is more than the get itself.
   */
  get (key, options) {
    if (typeof key !== 'string' || !this.#plainKeys || this.status !== 'open') return super.get(key, options)
    let flags = 0
    if (options == null) {
      if (!this.#plainValues) return super.get(key, options)
    } else {
      const { keyEncoding, valueEncoding, snapshot } = options
      if (keyEncoding !== undefined || snapshot != null) return super.get(key, options)
      if (valueEncoding === 'buffer') flags = VALUE_BYTES
      else if (valueEncoding !== undefined || !this.#plainValues) return super.get(key, options)
    }
    if (!mayRun()) return later(() => this.#get(flags, key))
    try {
      return Promise.resolve(this.#get(flags, key))
    } catch (err) {
      return Promise.reject(err)
    }
  }

  _get (key, options) {
    const flags = readFlags(options)
    const snapshot = options.snapshot?.[kSnapshot]
    if (mayRun()) return this.#get(flags, key, snapshot)
    const copy = kept(key)
    return later(() => this.#get(flags, copy, snapshot))
  }

  #get (flags, key, snapshot) {
    if ((flags & VALUE_BYTES) === 0) {
      const found = binding.get(this.#handle, flags, key, snapshot)
      spendLength(found)
      return found
    }
    const { memory, offset } = slab()
    const found = take(binding.get(this.#handle, flags, key, snapshot, memory, offset))
    spendLength(found)
    return found
  }

  _getSync (key, options) {
    const flags = readFlags(options)
    const snapshot = options.snapshot?.[kSnapshot]
    if ((flags & VALUE_BYTES) === 0) return binding.getSync(this.#handle, flags, key, snapshot)
    const { memory, offset } = slab()
    return take(binding.getSync(this.#handle, flags, key, snapshot, memory, offset))
  }

  async _getMany (keys, options) {
    const flags = readFlags(options)
    const snapshot = options.snapshot?.[kSnapshot]
    const sink = []
    const to = { sink, collect: collectSingly(options.valueEncoding === 'utf8' ? TEXT : BYTES) }
    const pending = await manyInTurn(keys, keys => {
      const { lengths, count, text, bytes } = staged(keys)
      return binding.getMany(this.#handle, flags, lengths, count, text, bytes, to, snapshot)
    })
    if (pending === undefined) {
      for (const value of sink) spendLength(value)
    } else {
      const take = () => binding.takeMany(pending, flags, VALUES_AT_ONCE, to)
      while (await inTurn(VALUES_AT_ONCE, take)) continue
    }
    return sink
  }

  _has (key, options) {
    const flags = readFlags(options)
    const snapshot = options.snapshot?.[kSnapshot]
    if (mayRun()) return binding.has(this.#handle, flags, key, snapshot)
    const copy = kept(key)
    return later(() => binding.has(this.#handle, flags, copy, snapshot))
  }

  async _hasMany (keys, options) {
    const snapshot = options.snapshot?.[kSnapshot]
    const found = await manyInTurn(keys, keys => {
      const { lengths, count, text, bytes } = staged(keys)
      return binding.hasMany(this.#handle, lengths, count, text, bytes, snapshot)
    })
    return Array.from(found, Boolean)
  }

  _put (key, value, options) {
    let flags = 0
    if (options.keyEncoding !== 'utf8') flags |= KEY_BYTES
    if (options.valueEncoding !== 'utf8') flags |= VALUE_BYTES
    if (options.sync === true) flags |= SYNC
    spendLength(value)
    if (mayRun()) return binding.put(this.#handle, flags, key, value)
    key = kept(key)
    value = kept(value)
    return later(() => binding.put(this.#handle, flags, key, value))
  }

  _del (key, options) {
    let flags = 0
    if (options.keyEncoding !== 'utf8') flags |= KEY_BYTES
    if (options.sync === true) flags |= SYNC
    if (mayRun()) return binding.del(this.#handle, flags, key)
    key = kept(key)
    return later(() => binding.del(this.#handle, flags, key))
  }

  /** As in `abstract-level`, where each operation may have the option `keyspace` besides. */
  batch (operations, options) {
    if (arguments.length === 0) return super.batch()
    if (Array.isArray(operations)) operations = operations.map(inKeyspace)
    return super.batch(operations, options)
  }

  _batch (operations, options) {
    const flags = options.sync === true ? SYNC : 0
    const units = operations.length
    const now = mayRun(units)
    const batch = now ? staging : new Staging()
    stage(batch, () => {
      for (const op of operations) {
        let handle = this.#handle
        let key = op.key
        if (op.sublevel != null) ({ handle, key } = target(key, op))
        if (op.type === 'put') {
          batch.put(handle, key, op.value)
          spendLength(op.value)
        } else {
          batch.del(handle, key)
        }
      }
    })
    if (now) return batch.write(this.#handle, flags)
    return later(() => batch.write(this.#handle, flags), units)
  }

  _chainedBatch () {
    return new ChainedBatch(this, this.#handle)
  }

  clear (options) {
    const signal = options?.signal
    if (signal == null || this.status !== 'opening') return super.clear(options)
    return this.deferAsync(() => this.clear(options), { signal })
  }

  _clear (options) {
    const { flags, ...given } = bounds(options)
    const lower = given.lower === undefined ? undefined : kept(given.lower)
    const upper = given.upper === undefined ? undefined : kept(given.upper)
    const snapshot = options.snapshot?.[kSnapshot]
    const { limit } = options
    // Not after an `await`: a write that is called next would come before it.
    return watched({ signal: options.signal }, watch => afterWaiting(() => {
      return binding.clear(this.#handle, flags, lower, upper, limit, snapshot, watch)
    }))
  }

  _iterator (options) {
    return new Iterator(this, this.#handle, options, options.snapshot?.[kSnapshot])
  }

  _keys (options) {
    return new KeyIterator(this, this.#handle, options, options.snapshot?.[kSnapshot])
  }

  _values (options) {
    return new ValueIterator(this, this.#handle, options, options.snapshot?.[kSnapshot])
  }

  _snapshot (options) {
    return new Snapshot(this.#handle, options)
  }

  approximateSize (start, end, options) {
    return this.#overRange('approximateSize', arguments)
  }

  compactRange (start, end, options) {
    return this.#overRange('compactRange', arguments)
  }

  async #overRange (name, given) {
    if (given.length < 2) throw new TypeError("The arguments 'start' and 'end' are required")
    const [start, end, options] = given
    const { signal, onProgress } = options ?? {}
    if (this.status === 'opening') {
      return this.deferAsync(() => this.#overRange(name, given), { signal })
    }
    if (this.status !== 'open') {
      throw new ModuleError(`Database is not open: cannot call ${name}()`, {
        code: 'LEVEL_DATABASE_NOT_OPEN'
      })
    }
    const encoding = this.keyEncoding(options?.keyEncoding)
    const flags = encoding.format === 'utf8' ? 0 : KEY_BYTES
    const bounds = [encoding.encode(start), encoding.encode(end)]
    return watched({ signal, onProgress }, watch => {
      return binding[name](this.#handle, flags, ...bounds, watch)
    })
  }
}

guard(Snapshot.prototype, RESOURCE)
guard(Keys.prototype, STORE)

module.exports = { Keys, Snapshot, kOpen, kClose, kSnapshot }
