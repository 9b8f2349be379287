'use strict'

// The flags of the addon's functions, and of keys and values in them.

module.exports = {
  KEY_BYTES: 1,
  VALUE_BYTES: 2,
  SYNC: 4,
  SNAPSHOT: 8,

  // Of iterators and `clear`, instead of the above.
  REVERSE: 2,
  LOWER: 4,
  LOWER_EXCLUDED: 8,
  UPPER: 16,
  UPPER_EXCLUDED: 32,
  SINGLY: 64,
  KEY_FORM_SHIFT: 8,
  VALUE_FORM_SHIFT: 10,

  ABSENT: 0,
  TEXT: 1,
  BYTES: 2
}
