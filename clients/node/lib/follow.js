'use strict'

// Waiting for the writes of another process.
//
// Each look for new writes is a task of the thread pool, and the wait between two looks a timer: a
// wait in a task would keep a thread of the pool, and a close, waiting for it.

const { performance } = require('perf_hooks')
// Not the global one: see `turn.js`.
const { setTimeout } = require('timers')
const binding = require('./binding')
const { AbortError, check } = require('./watch')

/** Milliseconds between two looks. */
const PAUSE_MS = 1

/** Resolves to whether a follower sees everything up to a sequence number. */
async function waitFor (handle, sequenceNumber, { timeout, signal }) {
  if (!Number.isSafeInteger(sequenceNumber) || sequenceNumber < 0) {
    throw new TypeError("The first argument 'sequenceNumber' must be a sequence number")
  }
  if (timeout != null && !(timeout >= 0)) {
    throw new TypeError("The option 'timeout' must be a number of milliseconds")
  }
  check({ signal })
  const end = performance.now() + (timeout ?? Infinity)
  while (true) {
    await binding.refresh(handle)
    if (binding.sequenceNumber(handle) >= sequenceNumber) return true
    if (signal?.aborted) throw new AbortError(signal.reason)
    if (performance.now() >= end) return false
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
  }
}

module.exports = { waitFor }
