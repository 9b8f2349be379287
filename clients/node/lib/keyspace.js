'use strict'

const binding = require('./binding')
const { Keys, kOpen, kClose } = require('./keys')
const { kHandle } = require('./target')

/** A keyspace: a named set of keys in a database, which it is closed with. */
class Keyspace extends Keys {
  #db
  #name

  constructor (db, name, options) {
    super(options)
    this.#db = db
    this.#name = name
  }

  get name () {
    return this.#name
  }

  async [kOpen] () {
    await this.#db.open({ passive: true })
    const handle = binding.keyspaceOpen(this.#db[kHandle], this.#name)
    this.#db.attachResource(this)
    return handle
  }

  [kClose] () {
    this.#db.detachResource(this)
  }
}

module.exports = { Keyspace }
