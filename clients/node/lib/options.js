'use strict'

// Names of options: those there are, and advice on others.
//
// `abstract-level` ignores options that it does not know, so a misspelled one would be lost without a
// word. Programs may have options of their own, which hooks and the event `write` get. So those are
// refused that are close to a known one, or that earlier versions of `level` had; and all others of an
// open that no hook gets.

const ModuleError = require('module-error')

/**
 * Of the constructor and `open`. The last line does nothing here: the options of `browser-level`, which
 * `level` documents, and one that `classic-level` is given by its own tests.
 */
const DATABASE = new Set([
  'keyEncoding', 'valueEncoding', 'passive', 'createIfMissing', 'errorIfExists', 'multithreading',
  'readOnly', 'follow', 'manualRefresh', 'readerLease', 'readerSpaceMax', 'memory', 'upgrade',
  'upgradeWithoutLog', 'signal', 'onProgress', 'cacheSize', 'writeBufferSize', 'compression',
  'blockSize', 'maxOpenFiles', 'blockRestartInterval', 'maxFileSize',
  'prefix', 'version', 'location'
])

/** Those, and the options of all other calls. */
const KNOWN = new Set([
  ...DATABASE, 'snapshot', 'fillCache', 'sync', 'sublevel', 'gt', 'gte', 'lt', 'lte', 'reverse', 'limit',
  'keys', 'values', 'highWaterMarkBytes', 'separator', 'manifest', 'owner', 'add', 'keyspace',
  'valueBytes', 'timeout', 'after', 'lease', 'bytesMax', 'durability', 'syncInterval'
])

/** Those of earlier versions. Ignored, they would read or clear other entries than were meant. */
const REMOVED = {
  start: "'gte', or 'lte' with 'reverse'",
  end: "'lte', or 'gte' with 'reverse'",
  asBuffer: "'valueEncoding'",
  keyAsBuffer: "'keyEncoding'",
  valueAsBuffer: "'valueEncoding'"
}

/** Shorter names are too close to each other. */
const SHORT = 4
/** Names that are remembered. */
const SAID_MAX = 1000

/** Number of characters to insert, remove, replace or exchange with the next. */
function distance (a, b) {
  let before
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const differ = a[i - 1] === b[j - 1] ? 0 : 1
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + differ)
      const exchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (exchanged) next[j] = Math.min(next[j], before[j - 2] + 1)
    }
    before = row
    row = next
  }
  return row[b.length]
}

/** Returns the known name that was most likely meant, or `undefined`. */
function nearest (name) {
  const most = name.length > 2 * SHORT ? 2 : 1
  return [...KNOWN].find(other => Math.min(name.length, other.length) >= SHORT &&
    distance(name.toLowerCase(), other.toLowerCase()) <= most)
}

/** What was said of names, because programs repeat them. */
const said = new Map()

/** Returns what is wrong with an option that is not known, or `undefined`. */
function advise (name) {
  if (Object.hasOwn(REMOVED, name)) {
    return `the option '${name}' was removed from abstract-level: use ${REMOVED[name]}`
  }
  const meant = nearest(name)
  if (meant !== undefined) return `there is no option '${name}': did you mean '${meant}'?`
}

function remembered (name) {
  if (!said.has(name)) {
    if (said.size === SAID_MAX) said.clear()
    said.set(name, advise(name))
  }
  return said.get(name)
}

/** Returns the error for the first option that `judge` has a word on. */
function firstRefused (options, known, judge) {
  if (typeof options !== 'object') return
  for (const name in options) {
    if (known.has(name) || options[name] === undefined || !Object.hasOwn(options, name)) continue
    const text = judge(name)
    if (text !== undefined) return new ModuleError(text, { code: 'LEVEL_INVALID_ARGUMENT' })
  }
}

/** Returns an error if `options` has one that is not known, and was most likely meant to be. */
function misspelled (options) {
  return firstRefused(options, KNOWN, remembered)
}

/** Returns an error if `options`, of an open, has one that is not known. */
function unknown (options) {
  return firstRefused(options, DATABASE, name => {
    return `open() has no option '${name}'; it has ${[...DATABASE].join(', ')}`
  })
}

module.exports = { misspelled, unknown }
