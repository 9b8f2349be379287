'use strict'

// The iterator over what differs in two databases.

const binding = require('./binding')
const { decoder, protect, taker } = require('./collect')
const { Level } = require('./level')
const { misspelled } = require('./options')
const { kHandle } = require('./target')
const { watched } = require('./watch')

/** Appends differences; the ends of keys and values in `buffer` may be `undefined`: missing ones. */
function collect (sink, buffer, start) {
  protect(buffer)
  const part = taker(buffer, start)
  for (let i = 3; i < arguments.length; i += 4) {
    const [keyspace, key, before, after] = [0, 1, 2, 3].map(offset => arguments[i + offset])
    sink.push({ keyspace, key: part(key), before: part(before), after: part(after) })
  }
}

/** Yields the keys whose values differ. */
async function * diff (before, after, options) {
  for (const db of [before, after]) {
    if (!(db instanceof Level)) throw new TypeError("The arguments 'before' and 'after' must be databases")
  }
  const refused = misspelled(options)
  if (refused !== undefined) throw refused
  const { signal, keyEncoding, valueEncoding } = options ?? {}
  const key = decoder(before.keyEncoding(keyEncoding))
  const value = decoder(before.valueEncoding(valueEncoding))
  for (const db of [before, after]) await db.open({ passive: true })
  const comparison = await watched({ signal }, watch => binding.diffNew(before[kHandle], after[kHandle], watch))
  try {
    let ended = false
    while (!ended) {
      await watched({ signal }, watch => binding.diffRead(comparison, watch))
      const sink = []
      ended = binding.diffTake(comparison, sink, collect)
      for (const it of sink) {
        yield { keyspace: it.keyspace, key: key(it.key), before: value(it.before), after: value(it.after) }
      }
    }
  } finally {
    binding.diffClose(comparison)
  }
}

module.exports = { diff }
