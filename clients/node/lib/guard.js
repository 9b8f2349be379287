'use strict'

// Checks of calls, before the methods of `abstract-level` see them.
//
// Callbacks were removed from `abstract-level`, which ignores them: a program that passes one would
// wait for it for ever.

const ModuleError = require('module-error')
const { misspelled } = require('./options')

/** A method: how many of its arguments come before the options, and what it returns. */
const promise = before => ({ before, rejects: true })
const plain = (before, result) => ({ before, rejects: false, result })

const RESOURCE = { close: promise(0) }
const ITERATOR = {
  ...RESOURCE, next: promise(0), nextv: promise(1), all: promise(0), seek: plain(1), end: promise(0)
}
const CHAINED_BATCH = {
  ...RESOURCE, put: plain(2), del: plain(1), clear: plain(0), write: promise(0)
}
const STORE = {
  // The suite of `abstract-level` 3 calls it with a callback once, so that is no error.
  close: { ...promise(0), warns: true },
  open: promise(0),
  get: promise(1),
  getSync: plain(1),
  getMany: promise(1),
  has: promise(1),
  hasMany: promise(1),
  put: promise(2),
  del: promise(1),
  batch: { ...promise(1), result: CHAINED_BATCH },
  clear: promise(0),
  iterator: plain(0, ITERATOR),
  keys: plain(0, ITERATOR),
  values: plain(0, ITERATOR),
  snapshot: plain(0, RESOURCE),
  approximateSize: promise(2),
  compactRange: promise(2)
}
STORE.sublevel = plain(1, STORE)

/** Prototypes with checks, by those without. */
const prototypes = new WeakMap()

/** Throws if a callback is the last argument of `name`, after `before` others, or warns of it. */
function refuseCallback (name, given, { before, rejects = false, warns = false }) {
  const count = given.length
  if (count <= before || typeof given[count - 1] !== 'function') return
  const advice = rejects ? 'await the promise that it returns' : 'use what it returns'
  const text = `${name}() takes no callback and would never call it: ${advice}`
  if (!warns) throw new ModuleError(text, { code: 'LEVEL_LEGACY' })
  process.emitWarning(text, { code: 'LEVEL_LEGACY' })
}

/** Adds checks to an object that `abstract-level` has made, such as an iterator of a sublevel. */
function guardResult (object, calls) {
  const prototype = Object.getPrototypeOf(object)
  let guarded = prototypes.get(prototype)
  if (guarded === undefined) {
    // One below: the class is also that of other databases.
    guarded = guard(Object.create(prototype), calls)
    prototypes.set(prototype, guarded)
  }
  if (guarded !== prototype) Object.setPrototypeOf(object, guarded)
}

/** Puts checks before methods of `target`, and returns it. */
function guard (target, calls) {
  for (const [name, call] of Object.entries(calls)) {
    const { before, rejects, result } = call
    const method = target[name]
    if (method === undefined) continue
    const { [name]: value } = {
      [name] () {
        if (arguments.length > before) {
          refuseCallback(name, arguments, call)
          const refused = misspelled(arguments[before])
          if (refused !== undefined) {
            if (rejects) return Promise.reject(refused)
            throw refused
          }
        }
        const returned = method.apply(this, arguments)
        if (result !== undefined && !(returned instanceof Promise)) guardResult(returned, result)
        return returned
      }
    }
    Object.defineProperty(target, name, { value, configurable: true, writable: true })
  }
  prototypes.set(target, target)
  return target
}

module.exports = { guard, plain, promise, refuseCallback, RESOURCE, ITERATOR, CHAINED_BATCH, STORE }
