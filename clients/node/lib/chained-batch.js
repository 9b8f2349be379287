'use strict'

const { AbstractChainedBatch } = require('abstract-level')
const { SYNC } = require('./flags')
const { guard, CHAINED_BATCH } = require('./guard')
const { Staging } = require('./staging')
const { inTurn, spendLength } = require('./turn')

/** A chained batch, whose operations are collected until `write()`. */
class ChainedBatch extends AbstractChainedBatch {
  #handle
  #staging = new Staging()

  constructor (db, handle) {
    super(db)
    this.#handle = handle
  }

  _put (key, value) {
    this.#staging.put(key, value)
    spendLength(value)
  }

  _del (key) {
    this.#staging.del(key)
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
