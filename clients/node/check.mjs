#!/usr/bin/env node
// Builds the npm packages and tests them.
//
//     check.mjs test    the part for `make test`: an unoptimised addon, small sizes
//     check.mjs all     `make node`: types, packages for the old C library, their installation into
//                       an empty project, the tests of classic-level and level, packages that
//                      use level, all sizes
//     check.mjs speed   the comparison with other packages, after `all` or `build`
//
// Needs Node 18 or newer with npm; what else is needed is installed from npm, and for `all` from
// PyPI, below `target/node`, unless INSTALL=0. What cannot run here is noted in the file that
// CAIRN_SKIPS names; `test` ends with success then.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import {
  HERE, OUT, ROOT, TARGET, VERSION, assembleMain, assemblePlatform, pack, platformName, run, say
} from './packages.mjs'

const DIST = path.join(OUT, 'dist')

/** Packages of npm for each purpose. */
const TEST = ['abstract-level@3', 'tape@5', 'level-read-stream@2', 'classic-level@3']
const CLASSIC = ['tempy@1', 'mkfiletree@2', 'readfiletree@1', 'du@1', 'glob@10']
const TYPES = ['typescript@5', '@types/node@20']
const SPEED = ['lmdb@3', 'better-sqlite3@12']
/** Packages over `level`, which `tests/adopters.js` runs unmodified; its versions under other names. */
const ADOPTERS = [
  'dynalite@4', 'quadstore@15', 'rdf-data-factory@2', 'datastore-level@13', 'interface-datastore@10',
  'y-leveldb@0.2', 'yjs@13', 'rave-level@1', 'level8@npm:level@8', 'level9@npm:level@9', 'level10@npm:level@10'
]

/** The newest symbol of glibc that the addon may need. */
const GLIBC_MAX = [2, 17]

/** Sizes of the tests in `make node`; those in the tests are for `make test`. */
const FULL = {
  CAIRN_NODE_CYCLES: '100000',
  CAIRN_NODE_OPS: '200000',
  CAIRN_NODE_ROUNDS: '20'
}

/** What a step needs is not here. */
class Missing extends Error {}

/** Notes a check that cannot run, as the other checks of the repository do. */
function skip (reason) {
  process.stderr.write(`skipped: ${reason}\n`)
  if (process.env.CAIRN_SKIPS) fs.appendFileSync(process.env.CAIRN_SKIPS, `${reason}\n`)
}

function output (command, args) {
  const done = spawnSync(command, args, { encoding: 'utf8' })
  if (done.status !== 0) throw new Missing(`${command} ${args.join(' ')}`)
  return done.stdout.trim()
}

/** A folder for databases of tests: in memory where there is one, because opening one syncs. */
function scratch () {
  const parent = process.platform === 'linux' && fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir()
  return fs.mkdtempSync(path.join(parent, 'cairndb-node-'))
}

/** Installs packages of npm into a folder, unless they are there. */
function install (folder, packages) {
  fs.mkdirSync(folder, { recursive: true })
  const manifest = path.join(folder, 'package.json')
  if (!fs.existsSync(manifest)) fs.writeFileSync(manifest, '{ "private": true }\n')
  const bare = packages.map(name => name.replace(/(.)@.*/, '$1'))
  if (bare.every(name => fs.existsSync(path.join(folder, 'node_modules', name)))) return
  if (process.env.INSTALL === '0') throw new Missing(`npm install ${packages.join(' ')}`)
  const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', '--prefix', folder, ...packages]
  if (spawnSync('npm', args, { stdio: 'inherit' }).status !== 0) {
    throw new Missing(`npm ${args.join(' ')} fails; it needs npm's registry once`)
  }
}

/** Runs the test files of `tests` in a project in which the packages are installed. */
function runTests (project, env = {}) {
  const tests = path.join(project, 'tests')
  fs.rmSync(tests, { recursive: true, force: true })
  fs.cpSync(path.join(HERE, 'tests'), tests, { recursive: true })
  const files = fs.readdirSync(tests).filter(name => name.endsWith('.test.js')).sort()
  const folder = scratch()
  try {
    const args = ['--expose-gc', '--test', ...files.map(name => path.join('tests', name))]
    run(process.execPath, args, { cwd: project, env: { TMPDIR: folder, ...env } })
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** The part for `make test`. */
function test () {
  const project = path.join(OUT, 'test')
  install(project, TEST)
  // In the profile of `cargo test`, which has built most of the crates already.
  run('cargo', ['build', '--quiet', '--profile', 'test', '--package', 'cairndb-node', '--locked'], {
    cwd: ROOT,
    env: { CARGO_TARGET_DIR: TARGET }
  })
  const modules = path.join(project, 'node_modules', '@cairndb')
  fs.rmSync(modules, { recursive: true, force: true })
  assembleMain(path.join(modules, 'level'))
  assemblePlatform(path.join(project, 'node_modules', platformName()), path.join(TARGET, 'debug', 'libcairndb_node.so'))
  runTests(project)
}

/** Returns a Python environment with packages of PyPI: `zig` links against an old C library. */
function zig () {
  const folder = path.join(OUT, 'zig')
  const program = path.join(folder, 'bin', 'cargo-zigbuild')
  if (!fs.existsSync(program)) {
    if (process.env.INSTALL === '0') throw new Missing('pip install cargo-zigbuild ziglang')
    output('python3', ['-m', 'venv', folder])
    const pip = ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', 'cargo-zigbuild', 'ziglang']
    run(path.join(folder, 'bin', 'python'), pip)
  }
  return { program, env: { PATH: `${path.join(folder, 'bin')}${path.delimiter}${process.env.PATH}` } }
}

/** Rust's targets by architecture of Node. */
const TARGETS = { x64: 'x86_64-unknown-linux-gnu', arm64: 'aarch64-unknown-linux-gnu' }

function hasTarget (target) {
  return fs.existsSync(path.join(output('rustc', ['--print', 'sysroot']), 'lib', 'rustlib', target))
}

/** Fails if the addon needs a newer C library than the packages promise. */
function checkSymbols (addon) {
  const needed = [...output('objdump', ['-T', addon]).matchAll(/GLIBC_(\d+)\.(\d+)/g)]
  const newer = needed.filter(([, major, minor]) =>
    Number(major) > GLIBC_MAX[0] || (Number(major) === GLIBC_MAX[0] && Number(minor) > GLIBC_MAX[1]))
  if (needed.length === 0 || newer.length > 0) {
    process.stderr.write(`${addon} needs ${newer.map(([name]) => name).join(', ') || 'no glibc at all'}\n`)
    process.exit(1)
  }
  const versions = [...new Set(needed.map(([name]) => name))].join(', ')
  say(`${path.basename(addon)} needs ${versions}`)
}

/** Builds the packages of all platforms that this machine can build for. */
function build () {
  fs.rmSync(DIST, { recursive: true, force: true })
  fs.mkdirSync(DIST, { recursive: true })
  const { program, env } = zig()
  for (const [arch, target] of Object.entries(TARGETS)) {
    if (!hasTarget(target)) {
      if (arch === process.arch) throw new Missing(`rustup target add ${target}`)
      say(`no package for ${arch}: rustup target add ${target}`)
      continue
    }
    const args = ['zigbuild', '--release', '--locked', '--package', 'cairndb-node']
    run(program, [...args, '--target', `${target}.${GLIBC_MAX.join('.')}`], {
      cwd: ROOT,
      env: { ...env, CARGO_TARGET_DIR: TARGET, CARGO_PROFILE_RELEASE_STRIP: 'symbols' }
    })
    const addon = path.join(TARGET, target, 'release', 'libcairndb_node.so')
    checkSymbols(addon)
    const folder = path.join(OUT, 'packages', arch)
    fs.rmSync(folder, { recursive: true, force: true })
    assemblePlatform(folder, addon, arch)
    pack(folder, DIST)
    if (arch !== process.arch) say(`the package for ${arch} was built, not run`)
  }
  const folder = path.join(OUT, 'packages', 'main')
  fs.rmSync(folder, { recursive: true, force: true })
  assembleMain(folder)
  pack(folder, DIST)
}

function tarball (name) {
  const file = path.join(DIST, `${name}-${VERSION}.tgz`)
  if (!fs.existsSync(file)) throw new Missing(`${file}; run \`check.mjs build\``)
  return `file:${file}`
}

/** Packages that are not published, from the tarballs that were built. */
function unpublished () {
  const overrides = {}
  for (const arch of Object.keys(TARGETS)) {
    const name = `cairndb-level-linux-${arch}-gnu`
    if (fs.existsSync(path.join(DIST, `${name}-${VERSION}.tgz`))) {
      overrides[`@cairndb/level-linux-${arch}-gnu`] = tarball(name)
    }
  }
  return overrides
}

/** Makes an empty project and installs the tarballs into it, as a user would. */
function project (name, packages, dependencies = {}, overrides = {}) {
  const folder = path.join(OUT, name)
  fs.rmSync(folder, { recursive: true, force: true })
  fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify({
    private: true,
    dependencies,
    overrides: { ...unpublished(), ...overrides }
  }))
  if (process.env.INSTALL === '0') throw new Missing(`npm install ${packages.join(' ')}`)
  run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages], { cwd: folder })
  return folder
}

/** Installs the packages into an empty project, and runs all tests at full size. */
function installed () {
  const main = { '@cairndb/level': tarball('cairndb-level') }
  const folder = project('installed', TEST, main)
  const found = fs.readdirSync(path.join(folder, 'node_modules', '@cairndb'))
  say(`installed: ${found.join(', ')}`)
  if (found.length !== 2) {
    process.stderr.write('npm has not chosen one addon for this platform\n')
    process.exit(1)
  }
  runTests(folder, FULL)
}

/** Compiles a program that uses all types. */
function types () {
  const folder = path.join(OUT, 'types')
  install(folder, [...TYPES, 'abstract-level@3'])
  assembleMain(path.join(folder, 'node_modules', '@cairndb', 'level'))
  fs.copyFileSync(path.join(HERE, 'tests', 'typed-usage.ts'), path.join(folder, 'typed-usage.ts'))
  for (const module of ['commonjs', 'node16']) {
    run(path.join(folder, 'node_modules', '.bin', 'tsc'), [
      '--strict', '--noEmit', '--target', 'es2022', '--module', module, '--esModuleInterop', 'typed-usage.ts'
    ], { cwd: folder })
  }
}

/** Tests of `classic-level` that look into LevelDB's files or sources, by what then fails. */
const CLASSIC_DIFFERS = {
  'compression-test.js': [/on-disk size \(\d+\) is less than data size/],
  'getproperty-test.js': [/leveldb\.sstables/],
  'port-libuv-fix-test.js': null,
  'repair-test.js': [/directory contains ldb file/]
}

/** Runs one file of them. It agrees if exactly what is listed fails. */
function classicFile (folder, name, databases) {
  const done = spawnSync(process.execPath, ['--expose-gc', path.join('test', name)], {
    cwd: folder, encoding: 'utf8', env: { ...process.env, TMPDIR: databases }, maxBuffer: 1 << 28
  })
  const failures = done.stdout.split('\n').filter(line => line.startsWith('not ok'))
  const differs = CLASSIC_DIFFERS[name] || []
  const unknown = failures.filter(line => !differs.some(pattern => pattern.test(line)))
  const missing = differs.filter(pattern => !failures.some(line => pattern.test(line)))
  const crashed = done.signal !== null || (done.status !== 0 && failures.length === 0)
  return {
    agrees: unknown.length === 0 && missing.length === 0 && !crashed,
    passed: Number(done.stdout.match(/^# pass +(\d+)$/m)?.[1] || 0),
    failed: failures.length,
    text: [
      `status ${done.status}, ${done.signal}`, ...unknown, ...missing.map(pattern => `passes now: ${pattern}`), done.stderr
    ].join('\n')
  }
}

/** Runs the tests of `classic-level` from the checkout that CLASSIC_LEVEL_DIR names. */
function classicLevel () {
  const checkout = process.env.CLASSIC_LEVEL_DIR
  if (!checkout) {
    skip("Node: classic-level's tests: CLASSIC_LEVEL_DIR must name a checkout of it")
    return
  }
  const main = { '@cairndb/level': tarball('cairndb-level') }
  const folder = project('classic', [...TEST, ...CLASSIC], main)
  fs.cpSync(path.join(checkout, 'test'), path.join(folder, 'test'), { recursive: true })
  fs.writeFileSync(path.join(folder, 'index.js'), "module.exports = require('@cairndb/level')\n")
  const databases = scratch()
  let passed = 0
  for (const name of fs.readdirSync(path.join(folder, 'test')).filter(name => name.endsWith('-test.js'))) {
    if (CLASSIC_DIFFERS[name] === null) continue
    let result
    // `iterator-starvation-test.js` counts chunks, which are shorter on a busy machine.
    for (let tries = 0; tries < 3 && !result?.agrees; tries++) result = classicFile(folder, name, databases)
    if (!result.agrees) {
      process.stderr.write(`${name}: ${result.text}`)
      process.exit(1)
    }
    passed += result.passed
    say(`${name}: ${result.passed} passed${result.failed > 0 ? `, ${result.failed} differ as listed` : ''}`)
  }
  fs.rmSync(databases, { recursive: true, force: true })
  say(`classic-level: ${passed} assertions passed`)
}

/** Runs `level` 10 with our package in place of `classic-level`. */
function level () {
  const overrides = { 'classic-level': tarball('cairndb-level') }
  const folder = project('level', ['abstract-level@3', 'tape@5', 'level-read-stream@2'], { level: '^10.0.0' }, overrides)
  const databases = scratch()
  fs.copyFileSync(path.join(HERE, 'tests', 'level-suite.js'), path.join(folder, 'level-suite.js'))
  const done = spawnSync(process.execPath, ['level-suite.js'], {
    cwd: folder, encoding: 'utf8', env: { ...process.env, TMPDIR: databases }, maxBuffer: 1 << 28
  })
  fs.rmSync(databases, { recursive: true, force: true })
  const failures = done.stdout.split('\n').filter(line => line.startsWith('not ok'))
  say(`level 10: ${done.stdout.match(/^# pass +\d+$/m)?.[0]}`)
  if (done.status !== 0 || failures.length > 0) {
    process.stderr.write(`${failures.join('\n')}\n${done.stderr}\n`)
    process.exit(1)
  }
}

/** Runs packages that use `level`, with our package in place of `classic-level`. */
function adopters () {
  const folder = project('adopters', ADOPTERS, {}, { 'classic-level': tarball('cairndb-level') })
  fs.copyFileSync(path.join(HERE, 'tests', 'adopters.js'), path.join(folder, 'adopters.js'))
  const databases = scratch()
  run(process.execPath, ['--test', 'adopters.js'], { cwd: folder, env: { TMPDIR: databases } })
  fs.rmSync(databases, { recursive: true, force: true })
}

/** Makes a project for the measurements. */
function measured (packages) {
  const main = { '@cairndb/level': tarball('cairndb-level') }
  const folder = project('measured', [...TEST, ...packages], main)
  fs.cpSync(path.join(HERE, 'bench'), path.join(folder, 'bench'), { recursive: true })
  return folder
}

/** Compares the speed with that of other packages. */
function speed () {
  const folder = measured(SPEED)
  run(process.execPath, ['--expose-gc', path.join('bench', 'speed.mjs'), ...process.argv.slice(3)], { cwd: folder })
}

/** Measures how long the event loop is held up. */
function gaps () {
  const folder = measured([])
  run(process.execPath, [path.join('bench', 'gaps.mjs'), ...process.argv.slice(3)], { cwd: folder })
}

const STEPS = {
  test: [test],
  all: [types, build, installed, classicLevel, level, adopters, gaps],
  types: [types],
  build: [build],
  installed: [installed],
  classic: [classicLevel],
  level: [level],
  adopters: [adopters],
  speed: [speed],
  gaps: [gaps]
}


function main () {
  const started = Date.now()
  const step = process.argv[2]
  if (!(step in STEPS)) {
    say(`Steps: ${Object.keys(STEPS).join(', ')}`)
    say(fs.readFileSync(fileURLToPath(import.meta.url), 'utf8').match(/^\/\/.*$/mg).map(line => line.slice(3)).join('\n'))
    process.exit(1)
  }
  try {
    for (const part of STEPS[step]) part()
  } catch (err) {
    if (!(err instanceof Missing)) throw err
    skip(`Node: ${err.message}`)
    if (step !== 'test') process.exit(1)
  }
  say(`check.mjs ${step}: ${Math.round((Date.now() - started) / 1000)} s`)
}

main()
