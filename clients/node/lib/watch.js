'use strict'

// Long calls of the addon that a program can abort, and whose progress it can see.

const ModuleError = require('module-error')
// Not the global ones: see `turn.js`.
const { clearInterval, setImmediate, setInterval } = require('timers')
const binding = require('./binding')

/** Milliseconds between two calls of `onProgress`. */
const REPORT_MS = 100

/** The error of `abstract-level` for what a signal has aborted. */
class AbortError extends ModuleError {
  constructor (cause) {
    super('Operation has been aborted', { code: 'LEVEL_ABORTED', cause })
  }

  get name () {
    return 'AbortError'
  }
}

function check ({ signal, onProgress }) {
  if (signal != null && typeof signal.addEventListener !== 'function') {
    throw new TypeError("The option 'signal' must be an AbortSignal")
  }
  if (onProgress != null && typeof onProgress !== 'function') {
    throw new TypeError("The option 'onProgress' must be a function")
  }
  if (signal?.aborted) throw new AbortError(signal.reason)
}

/**
 * Makes a call before it returns a promise of its result, unless the signal is aborted already.
 *
 * @param {{ signal?: AbortSignal, onProgress?: function }} options
 * @param {function} call Gets what the addon takes as the last argument of a long call.
 */
async function watched (options, call) {
  check(options)
  const { signal, onProgress } = options
  if (signal == null && onProgress == null) return call()
  const watch = binding.watchNew()
  const abort = () => binding.watchAbort(watch)
  const report = () => {
    try {
      binding.watchReport(watch, onProgress)
    } catch (err) {
      // As with a listener of an event: the call goes on.
      setImmediate(() => { throw err })
    }
  }
  signal?.addEventListener('abort', abort, { once: true })
  const timer = onProgress == null ? undefined : setInterval(report, REPORT_MS)
  try {
    const result = await call(watch)
    if (onProgress != null) report()
    return result
  } catch (err) {
    throw signal?.aborted && err.code === 'LEVEL_ABORTED' ? new AbortError(signal.reason) : err
  } finally {
    clearInterval(timer)
    signal?.removeEventListener('abort', abort)
  }
}

module.exports = { AbortError, check, watched }
