'use strict'

// What is done to a database that is not open: removal and repair.

const fs = require('fs/promises')
const path = require('path')
const binding = require('./binding')

/** Files that LevelDB writes. */
const LEVELDB_FILE = /^(?:\d+\.(?:log|ldb|sst|dbtmp)|MANIFEST-\d+|CURRENT|LOCK|LOG|LOG\.old)$/

function checkLocation (location) {
  if (typeof location !== 'string' || location === '') {
    throw new TypeError("The first argument 'location' must be a non-empty string")
  }
}

/** Removes a database of CairnDB or LevelDB. Other files stay, and so does then the directory. */
async function destroy (location) {
  try {
    await binding.destroy(location)
  } catch (err) {
    if (err.code !== 'LEVEL_INVALID_ARGUMENT') throw err
    if (await isLevelDB(location)) await removeLevelDB(location)
    // Anything else is not ours to remove.
  }
  await removeLevelDB(path.join(location, 'leveldb-original'))
  await fs.rmdir(location).catch(ignoreLeftovers)
}

/** Returns whether the manifest that `CURRENT` names begins as LevelDB's does. */
async function isLevelDB (location) {
  try {
    const manifest = (await fs.readFile(path.join(location, 'CURRENT'), 'utf8')).trim()
    if (!LEVELDB_FILE.test(manifest)) return false
    const file = await fs.open(path.join(location, manifest))
    try {
      // The first record: checksum and length, its kind, and the tag of the comparator's name.
      const { bytesRead, buffer } = await file.read(Buffer.alloc(8), 0, 8, 0)
      return bytesRead === 8 && buffer[6] === 1 && buffer[7] === 1
    } finally {
      await file.close()
    }
  } catch {
    return false
  }
}

async function removeLevelDB (directory) {
  let names
  try {
    names = await fs.readdir(directory)
  } catch (err) {
    if (err.code === 'ENOENT' || err.code === 'ENOTDIR') return
    throw err
  }
  const last = name => name === 'CURRENT' || name === 'LOCK'
  names = names.filter(name => LEVELDB_FILE.test(name)).sort((a, b) => last(a) - last(b))
  for (const name of names) await fs.unlink(path.join(directory, name))
  await fs.rmdir(directory).catch(ignoreLeftovers)
}

function ignoreLeftovers (err) {
  if (!['ENOENT', 'ENOTEMPTY', 'EEXIST', 'EBUSY', 'EACCES', 'EPERM', 'EINVAL', 'ENOTDIR'].includes(err.code)) throw err
}

/** Repairs a database. The damaged directory stays beside it, as `location.damaged-N`. */
async function repair (location, watch) {
  await fs.access(location)
  const whole = path.resolve(location)
  for (let number = 1; ; number++) {
    const aside = `${whole}.damaged-${number}`
    try {
      await fs.lstat(aside)
    } catch (err) {
      if (err.code !== 'ENOENT') throw err
      await binding.repair(whole, aside, watch)
      return
    }
  }
}

module.exports = { checkLocation, destroy, repair }
