'use strict'

// The iterator of a `for await` loop.
//
// That of `abstract-level` is a generator. Ours takes whole chunks and does otherwise what a
// generator does, for programs that call it themselves: a call waits for those before it, and after
// the end, an error or a `return()` there are no more items.

/**
 * @param {function} fetched Returns the next result if it is there, or `undefined`.
 * @param {function} fetch Returns a promise of the next result.
 * @param {function} close Returns a promise.
 */
function loopOver (fetched, fetch, close) {
  let ended = false
  /** Calls that were made and are not done, and the promise of the last of them. */
  let calls = 0
  let last

  function inOrder (call) {
    last = calls++ === 0 ? call() : last.then(call, call)
    return last
  }

  async function end () {
    ended = true
    await close()
  }

  async function next () {
    try {
      if (ended) return { value: undefined, done: true }
      const result = fetched() ?? await fetch()
      if (result.done) await end()
      return result
    } catch (err) {
      await end()
      throw err
    } finally {
      calls--
    }
  }

  /** Ends the loop, and returns or throws what `result` does. */
  async function leave (result) {
    try {
      await end()
      return await result()
    } finally {
      calls--
    }
  }

  return {
    next () {
      const result = calls === 0 && !ended ? fetched() : undefined
      return result === undefined ? inOrder(next) : Promise.resolve(result)
    },
    return: value => inOrder(() => leave(async () => ({ value: await value, done: true }))),
    throw: err => inOrder(() => leave(() => { throw err })),
    [Symbol.asyncIterator] () { return this }
  }
}

module.exports = { loopOver }
