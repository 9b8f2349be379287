'use strict'

const ModuleError = require('module-error')
const fs = require('fs/promises')
const binding = require('./binding')
const { Changes } = require('./changes')
const { collectSingly } = require('./collect')
const { TEXT } = require('./flags')
const { waitFor } = require('./follow')
const { guard, plain, promise, refuseCallback } = require('./guard')
const { Keys, Snapshot, kOpen, kClose, kSnapshot } = require('./keys')
const { Keyspace } = require('./keyspace')
const { checkLocation, destroy, repair } = require('./offline')
const { misspelled, unknown } = require('./options')
const { kHandle } = require('./target')
const { afterWaiting } = require('./turn')
const { watched } = require('./watch')

/** Appends leases. */
function collectLeases (sink) {
  for (let i = 1; i < arguments.length; i += 3) {
    sink.push({ name: arguments[i], place: arguments[i + 1], fellOff: arguments[i + 2] !== '' })
  }
}

class Level extends Keys {
  #location
  #shared

  /**
   * @param {string} location
   * @param {object} [options]
   * @param {object} [defaults] Options that a derived class has other defaults for.
   */
  constructor (location, options, defaults = { multithreading: true }) {
    checkLocation(location)
    refuseCallback('new Level', arguments, { before: 1 })
    const refused = misspelled(options)
    if (refused !== undefined) throw refused
    super(options)
    this.#location = location
    this.#shared = defaults.multithreading
  }

  get location () {
    return this.#location
  }

  async [kOpen] (options) {
    // A hook may have other options.
    const refused = this.hooks.postopen.noop ? unknown(options) : undefined
    if (refused !== undefined) throw refused
    const given = { multithreading: this.#shared, ...options }
    return watched(options, async watch => {
      if (options.createIfMissing && !options.readOnly && !options.follow) {
        await fs.mkdir(this.#location, { recursive: true })
      }
      return binding.open(this.#location, given, watch)
    })
  }

  [kClose] (handle) {
    return binding.close(handle)
  }

  async keyspace (name, options) {
    const keyspace = new Keyspace(this, name, options)
    try {
      await keyspace.open()
    } catch (err) {
      throw err.cause ?? err
    }
    return keyspace
  }

  async createKeyspace (name, options) {
    await this.#whenOpen(() => binding.keyspaceNew(this[kHandle], name, options ?? {}))
    return this.keyspace(name, options)
  }

  dropKeyspace (name) {
    return this.#whenOpen(() => afterWaiting(() => binding.keyspaceDrop(this[kHandle], name)))
  }

  keyspaces () {
    return this.#whenOpen(() => {
      const names = []
      binding.keyspaceNames(this[kHandle], names, collectSingly(TEXT))
      return names
    })
  }

  async fork (location, options) {
    checkLocation(location)
    return this.#whenOpen(() => this.#fork(location, options ?? {}))
  }

  async #fork (location, { snapshot, signal, onProgress }) {
    if (snapshot != null && snapshot[kSnapshot] === undefined) {
      throw new TypeError("The option 'snapshot' must be a snapshot of the database")
    }
    snapshot?.ref()
    try {
      return await watched({ signal, onProgress }, async watch => {
        await afterWaiting(() => binding.written(this[kHandle]))
        return binding.fork(this[kHandle], location, snapshot?.[kSnapshot], watch)
      })
    } finally {
      snapshot?.unref()
    }
  }

  changes (options) {
    const given = options ?? {}
    return new Changes(this, given, () => this.#whenOpen(() => this.#feed(given, false)))
  }

  snapshotAndChanges (options) {
    const given = options ?? {}
    return this.#whenOpen(async () => {
      const feed = await this.#feed(given, true)
      const snapshot = new Snapshot(this[kHandle], { owner: this }, binding.changesSnapshot(feed))
      const changes = new Changes(this, given, async () => feed)
      await changes.open()
      return { snapshot, changes }
    })
  }

  /** Opens a feed after the writes that were called before. */
  async #feed (options, withSnapshot) {
    await afterWaiting(() => binding.written(this[kHandle]))
    return binding.changesNew(this[kHandle], options, withSnapshot)
  }

  place () {
    return this.#whenOpen(async () => {
      await afterWaiting(() => binding.written(this[kHandle]))
      return binding.place(this[kHandle])
    })
  }

  leases () {
    return this.#whenOpen(() => {
      const found = []
      binding.leases(this[kHandle], found, collectLeases)
      return found
    })
  }

  dropLease (name) {
    return this.#whenOpen(() => binding.leaseDrop(this[kHandle], name))
  }

  get sequenceNumber () {
    this.#checkOpen()
    return binding.sequenceNumber(this[kHandle])
  }

  refresh () {
    return this.#whenOpen(() => binding.refresh(this[kHandle]))
  }

  waitFor (sequenceNumber, options) {
    return this.#whenOpen(() => waitFor(this[kHandle], sequenceNumber, options ?? {}))
  }

  hasWriter () {
    return this.#whenOpen(() => binding.hasWriter(this[kHandle]))
  }

  /** Runs `run` now if the database is open, or once it is. */
  async #whenOpen (run) {
    if (this.status === 'opening') return this.deferAsync(() => this.#whenOpen(run))
    this.#checkOpen()
    return run()
  }

  #checkOpen () {
    if (this.status !== 'open') {
      throw new ModuleError('Database is not open', { code: 'LEVEL_DATABASE_NOT_OPEN' })
    }
  }

  getProperty (property) {
    if (typeof property !== 'string') {
      throw new TypeError("The first argument 'property' must be a string")
    }
    this.#checkOpen()
    return binding.property(this[kHandle], property)
  }

  static async destroy (location) {
    checkLocation(location)
    return destroy(location)
  }

  static async repair (location, options) {
    checkLocation(location)
    return watched(options ?? {}, watch => repair(location, watch))
  }
}

guard(Level.prototype, {
  keyspace: promise(1), createKeyspace: promise(1), dropKeyspace: promise(1), keyspaces: promise(0),
  fork: promise(1), changes: plain(0), snapshotAndChanges: promise(0), place: promise(0), leases: promise(0),
  dropLease: promise(1), refresh: promise(0), waitFor: promise(1), hasWriter: promise(0)
})
guard(Level, { destroy: promise(1), repair: promise(1) })

module.exports = { Level }
