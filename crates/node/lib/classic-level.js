'use strict'

const { Level } = require('./level')

/**
 * The class of the package `classic-level`, with its options. Unlike `Level`, instances share a
 * database only with `multithreading: true`.
 */
class ClassicLevel extends Level {
  constructor (location, options) {
    super(location, options, { multithreading: false })
  }
}

module.exports = { ClassicLevel }
