'use strict'

// What the tests share.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

/** A path at which there is nothing yet. */
function freshPath () {
  return path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'db-')), 'db')
}

/** Random numbers from a seed, which a failing test prints and `CAIRN_SEED` sets. */
class Random {
  constructor (seed = Number(process.env.CAIRN_SEED) || (Date.now() % 0x7FFFFFFF)) {
    this.seed = seed
    this.state = seed >>> 0 || 1
  }

  /** A number from 0, below `end`. */
  below (end) {
    // Xorshift of 32 bits.
    this.state ^= this.state << 13
    this.state ^= this.state >>> 17
    this.state ^= this.state << 5
    return (this.state >>> 0) % end
  }

  pick (array) {
    return array[this.below(array.length)]
  }
}

/** A size that `make node` sets, or what is small enough for `make test`. */
function size (name, small) {
  return Number(process.env[name]) || small
}

module.exports = { freshPath, Random, size }
