// Measures how long the event loop is held up: the longest gap of a timer of one millisecond beside
// gets, scans, `clear` and a compaction, on a database whose files are not in memory.
//
//     node bench/gaps.mjs [--entries=N] [--folder=PATH] [--limit=MILLISECONDS]
//
// Run by `check.mjs gaps`. Each phase is compared with an idle one of the same length before it,
// because other programs hold up the timer as well. With --limit, a phase whose longest gap exceeds
// both the limit and that of its idle phase fails the run.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

const require = createRequire(path.join(process.cwd(), 'package.json'))
const { Level } = require('@cairndb/level')

const options = Object.fromEntries(process.argv.slice(2).map(argument => argument.replace(/^--/, '').split('=')))
const ENTRIES = Number(options.entries || 300000)
const LIMIT = Number(options.limit || Infinity)

const key = i => String(i).padStart(16, '0')
const location = path.join(fs.mkdtempSync(path.join(options.folder || os.tmpdir(), 'gaps-')), 'db')

/** Runs `body` beside the timer and returns the gaps between its ticks, in milliseconds, sorted. */
async function gapsOf (body) {
  const gaps = []
  let last = performance.now()
  const tick = () => {
    const now = performance.now()
    gaps.push(now - last)
    last = now
  }
  const timer = setInterval(tick, 1)
  await body()
  tick()
  clearInterval(timer)
  return gaps.sort((a, b) => a - b)
}

/** Removes the database's files from the page cache. */
function chill () {
  for (const name of fs.readdirSync(location)) {
    spawnSync('dd', [`if=${path.join(location, name)}`, 'iflag=nocache', 'count=0', 'status=none'])
  }
}

async function reopened (body) {
  const db = new Level(location)
  await db.open()
  try {
    await body(db)
  } finally {
    await db.close()
  }
}

/** A number below `ENTRIES` that looks random. */
const scattered = i => Math.imul(i, 2654435761) % ENTRIES

const PHASES = {
  'gets, one after the other': db => some(20000, i => db.get(key(Math.abs(scattered(i))))),
  'gets, 100 at once': db => some(200, i => Promise.all(Array.from({ length: 100 }, (_, j) => db.get(key(Math.abs(scattered(i * 100 + j))))))),
  'getMany of 1,000': db => some(20, i => db.getMany(Array.from({ length: 1000 }, (_, j) => key(Math.abs(scattered(i * 1000 + j)))))),
  'scan with for await': async db => {
    // eslint-disable-next-line no-unused-vars
    for await (const entry of db.iterator()) continue
  },
  'scans of 100 entries': db => some(500, i => db.iterator({ gte: key(Math.abs(scattered(i))), limit: 100 }).all()),
  'puts, one after the other': db => some(100000, i => db.put(key(i), 'w'.repeat(100))),
  'batches of 1,000': db => some(100, i => db.batch(Array.from({ length: 1000 }, (_, j) => ({ type: 'put', key: key(i * 1000 + j), value: 'x'.repeat(100) })))),
  compactRange: db => db.compactRange(key(0), key(ENTRIES)),
  'clear of a third': db => db.clear({ lt: key(ENTRIES / 3) })
}

async function some (count, operation) {
  for (let i = 0; i < count; i++) await operation(i)
}

await reopened(async db => {
  for (let i = 0; i < ENTRIES; i += 1000) {
    await db.batch(Array.from({ length: 1000 }, (_, j) => ({ type: 'put', key: key(i + j), value: (String(i + j) + ',').repeat(50).slice(0, 100) })))
  }
})

console.log(`Gaps of a timer of 1 ms, in ms, on a cold database of ${ENTRIES} entries`)
console.log('phase'.padEnd(30), 'idle longest'.padStart(13), '99.9 %'.padStart(8), 'longest'.padStart(8), 'seconds'.padStart(8))
let failed = false
for (const [name, phase] of Object.entries(PHASES)) {
  chill()
  let gaps
  let seconds
  await reopened(async db => {
    const started = performance.now()
    gaps = await gapsOf(() => phase(db))
    seconds = (performance.now() - started) / 1000
  })
  const idle = await gapsOf(() => sleep(Math.max(200, seconds * 1000)))
  const at = share => gaps[Math.min(gaps.length - 1, Math.floor(gaps.length * share))]
  const [longest, quiet] = [gaps[gaps.length - 1], idle[idle.length - 1]]
  const columns = [quiet.toFixed(1).padStart(13), at(0.999).toFixed(1).padStart(8), longest.toFixed(1).padStart(8), seconds.toFixed(1).padStart(8)]
  console.log(name.padEnd(30), ...columns)
  if (longest > LIMIT && longest > quiet) failed = true
}
fs.rmSync(path.dirname(location), { recursive: true })
if (failed) {
  console.error(`the event loop was held up for more than ${LIMIT} ms`)
  process.exit(1)
}
