'use strict'

const { AbstractChainedBatch } = require('abstract-level')
const { SYNC } = require('./flags')
const { Staging } = require('./staging')

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
  }

  _del (key) {
    this.#staging.del(key)
  }

  _clear () {
    this.#staging.clear()
  }

  _write (options) {
    return this.#staging.write(this.#handle, options.sync === true ? SYNC : 0)
  }

  async _close () {
    this.#staging.clear()
  }
}

module.exports = { ChainedBatch }
