'use strict'

// Collects keys and values for one call of the addon, which `src/staged.rs` takes apart.
//
// All strings are appended to one, all bytes to one buffer, and the lengths to an array.

const binding = require('./binding')
const { KEY_BYTES, VALUE_BYTES } = require('./flags')

/** In place of the length of a value: the operation is a deletion. */
const DELETED = 0xFFFFFFFF
/** Bytes or characters after which what was collected moves to the addon. */
const LONG = 256 * 1024
/** Bytes from which a value is passed on its own, so that it is copied once less. */
const LARGE = 32 * 1024
/** Longer values are no error of the lengths' representation, but of the store: see `check`. */
const LENGTH_MAX = 0x3FFFFFFF

function check (length) {
  if (length > LENGTH_MAX) {
    const err = new Error(`the value or key is longer than 1 GiB (${length} bytes)`)
    err.code = 'LEVEL_INVALID_ARGUMENT'
    throw err
  }
  return length
}

class Staging {
  text = ''
  bytes = Buffer.allocUnsafeSlow(1024)
  used = 0
  lengths = new Uint32Array(64)
  count = 0
  /** Where the operations that were collected go. */
  handle = null
  /** A batch in the addon with what was collected before, if that was too long. */
  long = null

  /** Appends a key, or a value after its key. */
  append (piece) {
    const isText = typeof piece === 'string'
    // Before anything changes: a chained batch can be used after the error.
    const length = check(isText ? piece.length : piece.byteLength)
    if (this.count === this.lengths.length) this.#growLengths()
    if (isText) {
      this.lengths[this.count++] = length * 2
      this.text += piece
      return
    }
    const end = this.used + length
    if (end > this.bytes.byteLength) this.#growBytes(end)
    this.bytes.set(piece, this.used)
    this.lengths[this.count++] = length * 2 + 1
    this.used = end
  }

  /** Passes what was collected on before operations of another handle. */
  #goesTo (handle) {
    if (this.handle !== handle && this.count > 0) this.flush()
    this.handle = handle
  }

  put (handle, key, value) {
    this.#goesTo(handle)
    if (typeof value !== 'string' && value.byteLength >= LARGE) {
      this.flush()
      const flags = VALUE_BYTES | (typeof key === 'string' ? 0 : KEY_BYTES)
      binding.batchPut(this.long, handle, flags, key, value)
      return
    }
    this.append(key)
    this.append(value)
    if (this.used + this.text.length > LONG) this.flush()
  }

  del (handle, key) {
    this.#goesTo(handle)
    this.append(key)
    if (this.count === this.lengths.length) this.#growLengths()
    this.lengths[this.count++] = DELETED
    if (this.used + this.text.length > LONG) this.flush()
  }

  /** Moves what was collected to a batch in the addon. */
  flush () {
    if (this.long === null) this.long = binding.batchNew()
    if (this.count > 0) {
      binding.batchAppend(this.long, this.handle, this.lengths, this.count, this.text, this.bytes)
    }
    this.#reset()
  }

  /** Writes all operations, and empties itself. Returns `undefined` or a promise. */
  write (handle, flags) {
    if (this.long === null) {
      const { lengths, count, text, bytes } = this
      const to = this.handle ?? handle
      this.#reset()
      return binding.write(to, flags, lengths, count, text, bytes)
    }
    this.flush()
    const long = this.long
    this.long = null
    return binding.batchWrite(handle, flags, long)
  }

  clear () {
    this.long = null
    this.#reset()
  }

  #reset () {
    this.text = ''
    this.used = 0
    this.count = 0
    this.handle = null
    if (this.bytes.byteLength > 4 * LONG) this.bytes = Buffer.allocUnsafeSlow(1024)
    if (this.lengths.length > LONG) this.lengths = new Uint32Array(64)
  }

  #growLengths () {
    const grown = new Uint32Array(this.lengths.length * 2)
    grown.set(this.lengths)
    this.lengths = grown
  }

  #growBytes (least) {
    const grown = Buffer.allocUnsafeSlow(Math.max(this.bytes.byteLength * 2, least))
    grown.set(this.bytes.subarray(0, this.used))
    this.bytes = grown
  }
}

module.exports = { Staging }
