'use strict'

// The keyspaces of single operations.

const ModuleError = require('module-error')

/** The state that the addon has of a database or a keyspace. */
const kHandle = Symbol('handle')

/** Returns an operation or its options with the keyspace where `abstract-level` looks for it. */
function inKeyspace (op) {
  return op?.keyspace == null ? op : { ...op, sublevel: op.keyspace }
}

/**
 * Returns where an operation goes that has the option `sublevel`. `abstract-level` leaves the option
 * if that is not a sublevel of the database itself: then it is a keyspace, or a sublevel of one.
 */
function target (key, { sublevel, keyEncoding }) {
  const root = sublevel.db ?? sublevel
  const handle = root[kHandle]
  if (handle === undefined) {
    throw new TypeError("The option 'keyspace' must be a keyspace of the database")
  }
  if (root.status !== 'open') {
    throw new ModuleError('The keyspace is not open', { code: 'LEVEL_DATABASE_NOT_OPEN' })
  }
  return { handle, key: sublevel.prefixKey(key, keyEncoding, false) }
}

module.exports = { kHandle, inKeyspace, target }
