'use strict'

// Iterators over entries, keys and values.
//
// Each read of the addon fetches a chunk. The first one of `next()` has one entry, because many
// iterators are read no further. A chunk after the first waits for the next turn of the event loop,
// so that a loop over a large range lets other work run.
//
// `for await` takes whole chunks as well. The loop of `abstract-level` calls `next()` for each entry,
// which takes several turns of the queue of microtasks; ours takes one.

const { AbstractIterator, AbstractKeyIterator, AbstractValueIterator } = require('abstract-level')
const ModuleError = require('module-error')
const binding = require('./binding')
const { bounds } = require('./range')
const { collectSingly, collectEntries, formOf, ABSENT } = require('./collect')
const { SINGLY, KEY_FORM_SHIFT, VALUE_FORM_SHIFT } = require('./flags')
const { guard, ITERATOR } = require('./guard')
const { loopOver } = require('./loop')
const { mayRun, inTurn, spend, later } = require('./turn')
const { AbortError } = require('./watch')

const CHUNK_ENTRIES = 1000
/** Entries of the first chunk of a loop, which may end early. */
const FIRST_ENTRIES = 32
const CHUNK_BYTES = 16 * 1024
/** Entries that the addon can be asked for: it converts numbers to 32 bits. */
const ENTRIES_MAX = 0xFFFFFFFF
/** Bytes of a chunk of `all()`, which passes on nothing before the end. */
const ALL_BYTES = 64 * 1024
/** Entries that are as much work as a get. */
const ENTRIES_OF_UNIT = 4
const EMPTY = []
/** Iterators of the addon that were closed. The next ones are made of them. */
const CLOSED = []
const CLOSED_MAX = 16

/** As Node-API converts a number to 32 bits: `Infinity` becomes 0. */
function byteLimit (option) {
  return option === undefined ? CHUNK_BYTES : option >>> 0
}

/** Adds the reads to one of the three base classes. `what` is 'entries', 'keys' or 'values'. */
function withReads (Base, what) {
  class Reads extends Base {
    #iterator
    #collect
    #bytes
    #cache = EMPTY
    #position = 0
    #ended = false
    /** Nothing was read yet. */
    #first = true
    /** `seek()` was called since the last read. */
    #sought = false
    /** Entries that a loop has got from `nextv()` and not returned yet, from `#at` on. */
    #items = EMPTY
    #at = 0
    /** Number of entries that a loop has got and a `seek()` has skipped. */
    #dropped = 0
    #limit
    #closed = false
    #signal = null
    #onAbort = null
    #aborted = false

    constructor (db, handle, options, snapshot) {
      // The base would count the entries that a `seek()` skips.
      const limit = options.limit
      options.limit = -1
      super(db, options)
      options.limit = limit
      this.#limit = limit < 0 ? Infinity : limit
      let { flags, lower, upper } = bounds(options)
      const noKeys = what === 'values' || (what === 'entries' && options.keys === false)
      const noValues = what === 'keys' || (what === 'entries' && options.values === false)
      const keyForm = noKeys ? ABSENT : formOf(options.keyEncoding)
      const valueForm = noValues ? ABSENT : formOf(options.valueEncoding)
      flags |= keyForm << KEY_FORM_SHIFT | valueForm << VALUE_FORM_SHIFT
      if (what === 'entries') {
        this.#collect = collectEntries(keyForm, valueForm)
      } else {
        flags |= SINGLY
        this.#collect = collectSingly(what === 'keys' ? keyForm : valueForm)
      }
      this.#bytes = byteLimit(options.highWaterMarkBytes)
      try {
        this.#iterator = binding.iteratorNew(handle, flags, lower, upper, snapshot, CLOSED.pop())
      } catch (err) {
        // The base has registered what cannot be closed.
        db.detachResource(this)
        throw err
      }
      if (options.signal != null) {
        this.#signal = options.signal
        this.#onAbort = () => {
          this.#aborted = true
          binding.iteratorAbort(this.#iterator)
        }
        this.#signal.addEventListener('abort', this.#onAbort, { once: true })
      }
    }

    /** Number of entries that were read and not returned yet; for tests. */
    get cached () {
      return this.#cache.length - this.#position
    }

    get count () {
      return super.count - this.#dropped - (this.#items.length - this.#at)
    }

    get limit () {
      return this.#limit
    }

    /** Number of entries that may still be read. */
    get #remaining () {
      return this.#limit - super.count + this.#dropped
    }

    [Symbol.asyncIterator] () {
      return loopOver(() => this.#resultOfLoop(), () => this.#nextChunkOfLoop(), () => this.close())
    }

    /** Returns the next result of a loop if it was fetched already. */
    #resultOfLoop () {
      if (this.#at < this.#items.length && !this.#closed && !this.#aborted) {
        return { value: this.#items[this.#at++], done: false }
      }
    }

    async #nextChunkOfLoop () {
      this.#items = EMPTY
      this.#at = 0
      const items = await super.nextv(this.#first ? FIRST_ENTRIES : CHUNK_ENTRIES)
      if (items.length === 0) return { value: undefined, done: true }
      this.#items = items
      this.#at = 1
      return { value: items[0], done: false }
    }

    // In the body of a loop, these go on where the loop is.

    next () {
      if (this.#at === this.#items.length) return super.next()
      return this.#takeItems(1).then(items => items[0])
    }

    nextv (size, options) {
      return this.#at === this.#items.length ? super.nextv(size, options) : this.#takeItems(size)
    }

    all (options) {
      if (this.#at === this.#items.length) return super.all(options)
      return this.#takeItems(Infinity).then(async items => items.concat(await super.all(options)))
    }

    async #takeItems (size) {
      if (this.#closed) {
        throw new ModuleError('Iterator is not open: cannot read after close()', {
          code: 'LEVEL_ITERATOR_NOT_OPEN'
        })
      }
      if (this.#aborted) throw new AbortError()
      const items = this.#items.slice(this.#at, this.#at + Math.max(size, 1))
      this.#at += items.length
      return items
    }

    _seek (target) {
      this.#dropped += this.#items.length - this.#at
      this.#items = EMPTY
      this.#at = 0
      this.#cache = EMPTY
      this.#position = 0
      this.#ended = false
      this.#first = true
      this.#sought = true
      binding.iteratorSeek(this.#iterator, target)
    }

    /** Appends a chunk to `sink`. Returns `undefined` or a promise. */
    #read (sink, entries, bytes) {
      if (this.#aborted) throw new AbortError()
      const before = sink.length
      const ended = binding.iteratorRead(this.#iterator, entries, bytes, sink, this.#collect)
      if (typeof ended === 'boolean') {
        this.#ended = ended
        spend((sink.length - before) / ENTRIES_OF_UNIT)
        return
      }
      return ended.then(() => {
        this.#ended = binding.iteratorTake(this.#iterator, sink, this.#collect)
        spend((sink.length - before) / ENTRIES_OF_UNIT)
      }, (err) => {
        throw this.#aborted ? new AbortError(err) : err
      })
    }

    /** Reads a chunk: now if it is the first and no signal can abort it, otherwise in the next turn. */
    #readInTurn (sink, entries, bytes) {
      if (this.#first && !this.#sought && this.#signal === null && mayRun()) {
        this.#first = false
        return this.#read(sink, entries, bytes)
      }
      this.#first = this.#sought = false
      return later(() => this.#read(sink, entries, bytes))
    }

    _next () {
      if (this.#position < this.#cache.length) return this.#cache[this.#position++]
      const remaining = this.#remaining
      if (this.#ended || remaining <= 0) return undefined
      const entries = this.#first ? 1 : Math.min(CHUNK_ENTRIES, remaining)
      const sink = []
      const read = this.#readInTurn(sink, entries, this.#bytes)
      this.#cache = sink
      this.#position = 0
      return read === undefined ? this.#taken() : read.then(() => this.#taken())
    }

    #taken () {
      return this.#position < this.#cache.length ? this.#cache[this.#position++] : undefined
    }

    _nextv (size) {
      size = Math.min(size, this.#remaining, ENTRIES_MAX)
      if (this.#position < this.#cache.length) {
        const end = Math.min(this.#position + size, this.#cache.length)
        const entries = this.#cache.slice(this.#position, end)
        this.#position = end
        return entries
      }
      const sink = []
      if (this.#ended || size <= 0) return sink
      const read = this.#readInTurn(sink, size, this.#bytes)
      return read === undefined ? sink : read.then(() => sink)
    }

    _all () {
      const sink = this.#cache.slice(this.#position)
      this.#cache = EMPTY
      this.#position = 0
      const most = this.#remaining
      if (this.#ended || sink.length >= most) return sink
      const read = this.#readInTurn(sink, Math.min(CHUNK_ENTRIES, most - sink.length), ALL_BYTES)
      if (read === undefined && (this.#ended || sink.length >= most)) return sink
      return this.#readRest(sink, most, read)
    }

    async #readRest (sink, most, read) {
      await read
      while (!this.#ended && sink.length < most) {
        const entries = Math.min(CHUNK_ENTRIES, most - sink.length)
        await inTurn(1, () => this.#read(sink, entries, ALL_BYTES))
      }
      return sink
    }

    _close () {
      if (this.#closed) return
      this.#closed = true
      this.#cache = EMPTY
      this.#position = 0
      this.#signal?.removeEventListener('abort', this.#onAbort)
      this.#signal = null
      binding.iteratorClose(this.#iterator)
      if (CLOSED.length < CLOSED_MAX) CLOSED.push(this.#iterator)
      this.#iterator = null
    }
  }
  guard(Reads.prototype, ITERATOR)
  return Reads
}

module.exports = {
  Iterator: withReads(AbstractIterator, 'entries'),
  KeyIterator: withReads(AbstractKeyIterator, 'keys'),
  ValueIterator: withReads(AbstractValueIterator, 'values')
}
