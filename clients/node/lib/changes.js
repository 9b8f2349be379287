'use strict'

// The feed of changes.
//
// Each look for changes is a task of the thread pool, and the wait between two looks a timer: a wait in
// a task would keep a thread of the pool, and a close, waiting for it.

const { Readable } = require('stream')
// Not the global one: see `turn.js`.
const { clearTimeout, setTimeout } = require('timers')
const ModuleError = require('module-error')
const binding = require('./binding')
const { decoder, protect, taker } = require('./collect')
const { AbortError, check } = require('./watch')

/** Milliseconds between two looks: after a change, and at most. */
const PAUSE_MS = 1
const PAUSE_MAX_MS = 16

const OPERATIONS = new Set(['put', 'del', 'merge', 'deleteRange'])

/** Appends changes, with the bytes of keys and values. */
function collect (sink, buffer, start) {
  protect(buffer)
  const part = taker(buffer, start)
  for (let i = 3; i < arguments.length; i += 6) {
    const [kind, keyspace, third, fourth, durability, count] = [0, 1, 2, 3, 4, 5].map(offset => arguments[i + offset])
    if (OPERATIONS.has(kind)) {
      sink[sink.length - 1].entries.push({ type: kind, keyspace, key: part(third), value: part(fourth) })
      continue
    }
    const change = { place: third, time: fourth === undefined ? undefined : new Date(fourth), durability, kind }
    if (kind === 'batch') change.entries = []
    else if (kind === 'unlogged') change.count = count
    else change.keyspace = keyspace
    sink.push(change)
  }
}

/** The changes of a database: an asynchronous iterator. */
class Changes {
  #feed
  #opened
  #key
  #value
  #signal
  #place
  #ready = []
  #reading = Promise.resolve()
  #closed = false
  /** Ends the wait for the next look. */
  #wake = () => {}

  /**
   * @param {function} open Resolves to the addon's feed.
   */
  constructor (db, options, open) {
    const { keyEncoding, valueEncoding, signal } = options
    check({ signal })
    this.#key = decoder(db.keyEncoding(keyEncoding))
    this.#value = decoder(db.valueEncoding(valueEncoding))
    this.#signal = signal
    this.#opened = open().then(feed => {
      this.#feed = feed
      this.#place = binding.changesPlace(feed)
    })
    // Reported by the first call that needs it.
    this.#opened.catch(() => {})
  }

  /** The place after the last change that was returned. */
  get place () {
    return this.#place
  }

  open () {
    return this.#opened
  }

  [Symbol.asyncIterator] () {
    return this
  }

  /** Calls take their turns. */
  next () {
    const next = this.#reading.then(() => this.#next())
    this.#reading = next.catch(() => {})
    return next
  }

  async #next () {
    await this.#opened
    try {
      return await this.#wait()
    } catch (err) {
      this.#release()
      throw err
    }
  }

  async #wait () {
    const wake = () => this.#wake()
    this.#signal?.addEventListener('abort', wake)
    try {
      for (let pause = PAUSE_MS; !this.#closed; pause = Math.min(2 * pause, PAUSE_MAX_MS)) {
        if (this.#signal?.aborted) throw new AbortError(this.#signal.reason)
        if (this.#ready.length === 0) {
          await binding.changesRead(this.#feed)
          binding.changesTake(this.#feed, this.#ready, collect)
          this.#ready.reverse()
        }
        const change = this.#ready.pop()
        if (change !== undefined) {
          this.#place = change.place
          return { done: false, value: this.#decoded(change) }
        }
        await this.#pause(pause)
      }
      return { done: true, value: undefined }
    } finally {
      this.#signal?.removeEventListener('abort', wake)
    }
  }

  #pause (ms) {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #decoded (change) {
    const key = this.#key
    change.entries = change.entries?.map(({ type, keyspace, key: first, value }) => {
      if (type === 'put') return { type, keyspace, key: key(first), value: this.#value(value) }
      if (type === 'del') return { type, keyspace, key: key(first) }
      if (type === 'merge') return { type, keyspace, key: key(first), operand: value }
      return { type, keyspace, from: key(first), to: key(value) }
    })
    if (change.entries === undefined) delete change.entries
    return change
  }

  async acknowledge (place) {
    if (typeof place !== 'string') throw new TypeError("The first argument 'place' must be a place")
    await this.#opened
    if (this.#closed) {
      throw new ModuleError('The feed of changes is not open', { code: 'LEVEL_ITERATOR_NOT_OPEN' })
    }
    return binding.changesAcknowledge(this.#feed, place)
  }

  stream () {
    return Readable.from(this)
  }

  async return () {
    await this.close()
    return { done: true, value: undefined }
  }

  async close () {
    this.#closed = true
    this.#wake()
    await this.#reading
    await this.#opened.catch(() => {})
    this.#release()
  }

  #release () {
    this.#closed = true
    if (this.#feed !== undefined) binding.changesClose(this.#feed)
  }
}

module.exports = { Changes }
