'use strict'

const { AbstractChainedBatch } = require('abstract-level')
const { SYNC } = require('./flags')
const { guard, CHAINED_BATCH } = require('./guard')
const { Staging } = require('./staging')
const { inKeyspace, target } = require('./target')
const { inTurn, spendLength } = require('./turn')

/** A chained batch, whose operations are collected until `write()`. */
class ChainedBatch extends AbstractChainedBatch {
  #handle
  #staging = new Staging()

  constructor (db, handle) {
    super(db)
    this.#handle = handle
  }

  put (key, value, options) {
    return super.put(key, value, inKeyspace(options))
  }

  del (key, options) {
    return super.del(key, inKeyspace(options))
  }

  _put (key, value, options) {
    const own = options.sublevel == null
    const to = own ? { handle: this.#handle, key } : target(key, options)
    this.#staging.put(to.handle, to.key, value)
    spendLength(value)
  }

  _del (key, { keyspace, keyEncoding }) {
    // Here, `abstract-level` has added the prefix already, and has removed the option `sublevel`.
    const own = keyspace == null
    const { handle } = own ? { handle: this.#handle } : target(key, { sublevel: keyspace, keyEncoding })
    this.#staging.del(handle, key)
  }

  _clear () {
    this.#staging.clear()
  }

  _write (options) {
    const flags = options.sync === true ? SYNC : 0
    return inTurn(this.length, () => this.#staging.write(this.#handle, flags))
  }

  async _close () {
    this.#staging.clear()
  }
}

guard(ChainedBatch.prototype, CHAINED_BATCH)

module.exports = { ChainedBatch }
