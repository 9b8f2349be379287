'use strict'

// How much work may be done at once in one turn of the event loop.
//
// An operation that is done at once resolves its promise without a turn of the event loop, so that a
// loop of `await db.get(key)` would never let a timer run. Therefore a turn has a budget of
// operations; those beyond it wait, in their order, for the next turns.

/** Operations in a turn: with one to two microseconds each, half a millisecond to one. */
const BUDGET = 512
/** Operations that have run are forgotten once there are this many. */
const FORGET_AFTER = 1024

let left = BUDGET
let renewing = false
/** What waits, from `head` on. */
let waiting = []
let head = 0
let draining = false

/** Returns whether an operation may be done now, and counts it. */
function mayRun () {
  if (left <= 0) return false
  left--
  if (!renewing) {
    renewing = true
    setImmediate(renew)
  }
  return true
}

function renew () {
  renewing = false
  // What waits comes first.
  if (!draining) left = BUDGET
}

/** Runs an operation in a later turn, after those that wait, and returns a promise of its result. */
function later (run) {
  left = 0
  if (!draining) {
    draining = true
    // Queued now and not with `renew`, so that what the program has queued before runs before it.
    setImmediate(drain)
  }
  return new Promise((resolve, reject) => {
    waiting.push({ run, resolve, reject })
  })
}

function drain () {
  let budget = BUDGET
  while (head < waiting.length && budget-- > 0) {
    const { run, resolve, reject } = waiting[head++]
    try {
      resolve(run())
    } catch (err) {
      reject(err)
    }
  }
  if (head === waiting.length || head >= FORGET_AFTER) {
    waiting = waiting.slice(head)
    head = 0
  }
  if (waiting.length > 0) {
    setImmediate(drain)
  } else {
    draining = false
    left = budget
  }
}

/** Runs an operation after those that wait: now if there are none. */
function afterWaiting (run) {
  return draining ? later(run) : run()
}

/** Resolves when everything that waits now has run. */
function drained () {
  return draining ? later(() => {}) : undefined
}

module.exports = { mayRun, later, afterWaiting, drained }
