'use strict'

// Memory for the values of gets that are short Buffers: making an ArrayBuffer for each would take
// longer than the get. As with Node's own pool, several Buffers have parts of one ArrayBuffer.

const { markAsUntransferable } = require('worker_threads')

/** As long as Node's own pool: a Buffer that is kept keeps this much at most. */
const SLAB_BYTES = 8 * 1024
/** Longer values get an ArrayBuffer of their own. `src/reads.rs` has the same number. */
const VALUE_BYTES_MAX = 1024

const current = { memory: null, offset: SLAB_BYTES }

/** Returns a Buffer and the offset from which on the addon may write one value. */
function slab () {
  if (current.offset > SLAB_BYTES - VALUE_BYTES_MAX) {
    current.memory = Buffer.allocUnsafeSlow(SLAB_BYTES)
    // A transfer to another thread would take the other values with it.
    markAsUntransferable(current.memory.buffer)
    current.offset = 0
  }
  return current
}

/** Returns the value for what the addon returned: the length of one that it has written, or another. */
function take (found) {
  if (typeof found !== 'number') return found
  const { memory, offset } = current
  // The next one is aligned, for typed arrays over it.
  current.offset = (offset + found + 7) & ~7
  return memory.subarray(offset, offset + found)
}

module.exports = { slab, take }
