// The npm packages: what they consist of, for `install.mjs` and `check.mjs`.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const ROOT = path.resolve(HERE, '../..')
const TARGET = path.resolve(process.env.CARGO_TARGET_DIR || path.join(ROOT, 'target'))
const OUT = path.join(TARGET, 'node')
const VERSION = JSON.parse(fs.readFileSync(path.join(HERE, 'package.json'))).version

function say (text) {
  process.stdout.write(`${text}\n`)
}

/** Prints a command and runs it; its failure ends the program. */
function run (command, args, options = {}) {
  say(`+ ${[command, ...args].join(' ')}`)
  const { env, ...rest } = options
  const done = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env }, ...rest })
  if (done.status !== 0) {
    if (done.error) say(done.error.code === 'ENOENT' ? `${command} is not in PATH` : String(done.error))
    process.stderr.write(`failed: ${[command, ...args].join(' ')}\n`)
    process.exit(1)
  }
}

/** The name of the package with the addon for this machine. */
function platformName () {
  return `@cairndb/level-${process.platform}-${process.arch}-gnu`
}

/** Puts the package with the addon together. */
function assemblePlatform (folder, addon, arch = process.arch) {
  fs.mkdirSync(folder, { recursive: true })
  const manifest = fs.readFileSync(path.join(HERE, 'npm', 'package.json'), 'utf8')
    .replaceAll('{version}', VERSION).replaceAll('{arch}', arch)
  fs.writeFileSync(path.join(folder, 'package.json'), manifest)
  fs.copyFileSync(addon, path.join(folder, 'cairndb.node'))
  copyLicenses(folder)
}

/** Puts the package without the addon together. */
function assembleMain (folder) {
  fs.mkdirSync(folder, { recursive: true })
  for (const name of ['index.js', 'index.mjs', 'index.d.ts', 'index.d.mts', 'lib', 'package.json', 'README.md']) {
    fs.cpSync(path.join(HERE, name), path.join(folder, name), { recursive: true })
  }
  copyLicenses(folder)
}

function copyLicenses (folder) {
  for (const name of ['LICENSE-MIT', 'LICENSE-APACHE']) {
    fs.copyFileSync(path.join(ROOT, name), path.join(folder, name))
  }
}

/** Packs a package into a folder. */
function pack (folder, destination) {
  fs.mkdirSync(destination, { recursive: true })
  run('npm', ['pack', '--silent', '--pack-destination', destination], { cwd: folder })
}

export { HERE, OUT, ROOT, TARGET, VERSION, assembleMain, assemblePlatform, pack, platformName, run, say }
