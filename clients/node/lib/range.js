'use strict'

// The bounds of iterators and `clear`, as the addon takes them.

const { KEY_BYTES, REVERSE, LOWER, LOWER_EXCLUDED, UPPER, UPPER_EXCLUDED } = require('./flags')

/** Returns the flags and the two bounds of range options. `gte` and `lte` count before `gt`, `lt`. */
function bounds (options) {
  let flags = options.reverse ? REVERSE : 0
  if (options.keyEncoding !== 'utf8') flags |= KEY_BYTES
  let lower
  let upper
  if (options.gte !== undefined) {
    flags |= LOWER
    lower = options.gte
  } else if (options.gt !== undefined) {
    flags |= LOWER | LOWER_EXCLUDED
    lower = options.gt
  }
  if (options.lte !== undefined) {
    flags |= UPPER
    upper = options.lte
  } else if (options.lt !== undefined) {
    flags |= UPPER | UPPER_EXCLUDED
    upper = options.lt
  }
  return { flags, lower, upper }
}

module.exports = { bounds }
