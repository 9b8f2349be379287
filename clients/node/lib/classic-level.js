'use strict'

const { refuseCallback } = require('./guard')
const { Level } = require('./level')

/**
 * The class of the package `classic-level`, with its options. Unlike `Level`, instances share a
 * database only with `multithreading: true`.
 */
class ClassicLevel extends Level {
  constructor (location, options) {
    refuseCallback('new ClassicLevel', arguments, { before: 1 })
    super(location, options, { multithreading: false })
  }
}

module.exports = { ClassicLevel }
