'use strict'

// How long operations may be done at once in one turn of the event loop.
//
// An operation that is done at once resolves its promise without a turn of the event loop, so that
// a loop of `await db.get(key)` would never let a timer run. Therefore a turn has half a millisecond
// for them; those that come later wait, in their order, for the next turns.
//
// The clock is read after every few units of work, because reading it takes as long as a tenth of a
// get. A unit is about the work of one get.

// Not the global ones: tests of a program may put a clock of their own in place of `setImmediate`,
// for which operations would wait for ever, and some test environments have none.
const { performance } = require('perf_hooks')
const { setImmediate } = require('timers')

/** Milliseconds of a turn, from its first operation on. */
const TURN_MS = 0.5
/** Units of work between two looks at the clock. */
const SLICE = 16
/** Bytes or characters of a key or value that are a unit of work. */
const UNIT_LENGTH = 8 * 1024
/** Operations that have run are forgotten once there are this many, and half of all. */
const FORGET_AFTER = 1024

/** Units left of the slice. */
let left = 0
/** When the turn began; holds while `renewing`. */
let began = 0
let renewing = false
/** What waits, from `head` on. */
let waiting = []
let head = 0
let draining = false

/** Returns whether an operation of `units` may be done now, and counts it. */
function mayRun (units = 1) {
  if (draining || (left <= 0 && !nextSlice())) return false
  left -= units
  return true
}

/** Begins a slice, unless the turn's time is up. */
function nextSlice () {
  const now = performance.now()
  if (!renewing) beginTurn(now)
  if (now - began >= TURN_MS) return false
  left = SLICE
  return true
}

function beginTurn (now) {
  began = now
  renewing = true
  setImmediate(renew)
}

function renew () {
  renewing = false
  left = 0
}

/** Counts work that an operation turned out to be, beyond the units that it began with. */
function spend (units) {
  left -= units
}

/** Counts the work of copying a string or buffer, if it is long. */
function spendLength (data) {
  if (data?.length > UNIT_LENGTH) left -= data.length / UNIT_LENGTH
}

/** Runs an operation in a later turn, after those that wait, and returns a promise of its result. */
function later (run, units = 1) {
  if (!draining) {
    draining = true
    // Queued now and not with `renew`, so that what the program has queued before runs before it.
    setImmediate(drain)
  }
  return new Promise((resolve, reject) => {
    waiting.push({ run, units, resolve, reject })
  })
}

/** Runs an operation now if the turn has time, or in a later one. */
function inTurn (units, run) {
  return mayRun(units) ? run() : later(run, units)
}

function drain () {
  // At least one of them runs, even if something else has begun the turn.
  left = SLICE
  if (renewing) began = performance.now()
  else beginTurn(performance.now())
  while (head < waiting.length && (left > 0 || nextSlice())) {
    const { run, units, resolve, reject } = waiting[head++]
    left -= units
    try {
      resolve(run())
    } catch (err) {
      reject(err)
    }
  }
  // Not more often: what is left is copied.
  if (head === waiting.length || (head >= FORGET_AFTER && 2 * head >= waiting.length)) {
    waiting = waiting.slice(head)
    head = 0
  }
  draining = waiting.length > 0
  if (draining) setImmediate(drain)
}

/** Runs an operation after those that wait: now if there are none. */
function afterWaiting (run) {
  return draining ? later(run) : run()
}

/** Resolves when everything that waits now has run. */
function drained () {
  return draining ? later(() => {}) : undefined
}

module.exports = { mayRun, inTurn, spend, spendLength, later, afterWaiting, drained }
