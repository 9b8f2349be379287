'use strict'

// The functions with which the addon (`src/results.rs`) passes many values at a time. Each appends
// to the array `sink`; the other arguments are the values. Bytes are passed as one buffer, and of
// each its end in there.

const { markAsUntransferable } = require('worker_threads')
const { ABSENT, TEXT, BYTES } = require('./flags')

function texts (sink) {
  for (let i = 1; i < arguments.length; i++) sink.push(arguments[i])
}

/** Keeps `postMessage` from transferring the memory of one value with that of all others. */
function protect (buffer) {
  markAsUntransferable(buffer.buffer)
}

/** An end may be `undefined`: a missing value. */
function slices (sink, buffer, start) {
  protect(buffer)
  for (let i = 3; i < arguments.length; i++) {
    const end = arguments[i]
    if (end === undefined) {
      sink.push(undefined)
    } else {
      sink.push(buffer.subarray(start, end))
      start = end
    }
  }
}

function textText (sink) {
  for (let i = 1; i < arguments.length; i += 2) sink.push([arguments[i], arguments[i + 1]])
}

function bytesBytes (sink, buffer, start) {
  protect(buffer)
  for (let i = 3; i < arguments.length; i += 2) {
    const middle = arguments[i]
    const end = arguments[i + 1]
    sink.push([buffer.subarray(start, middle), buffer.subarray(middle, end)])
    start = end
  }
}

function textBytes (sink, buffer, start) {
  protect(buffer)
  for (let i = 3; i < arguments.length; i += 2) {
    const end = arguments[i + 1]
    sink.push([arguments[i], buffer.subarray(start, end)])
    start = end
  }
}

function bytesText (sink, buffer, start) {
  protect(buffer)
  for (let i = 3; i < arguments.length; i += 2) {
    const end = arguments[i]
    sink.push([buffer.subarray(start, end), arguments[i + 1]])
    start = end
  }
}

/** Returns the function for keys alone or values alone. */
function collectSingly (form) {
  return form === BYTES ? slices : texts
}

/** Returns the function for entries. What is absent is passed as `undefined`. */
function collectEntries (keyForm, valueForm) {
  if (keyForm === BYTES) return valueForm === BYTES ? bytesBytes : bytesText
  return valueForm === BYTES ? textBytes : textText
}

/** Returns the form for an encoding's format. */
function formOf (format) {
  return format === 'utf8' ? TEXT : BYTES
}

/** Returns the function that returns the bytes of `buffer` from `start` or the last end to the next. */
function taker (buffer, start) {
  return end => {
    if (end === undefined) return undefined
    const bytes = buffer.subarray(start, end)
    start = end
    return bytes
  }
}

/** Returns the function that makes bytes a key or value. */
function decoder (encoding) {
  return bytes => {
    if (bytes === undefined) return undefined
    return encoding.decode(encoding.format === 'utf8' ? bytes.toString() : bytes)
  }
}

module.exports = { collectSingly, collectEntries, decoder, formOf, protect, taker, ABSENT }
