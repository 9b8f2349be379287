#!/usr/bin/env node
// Builds the npm packages for this machine alone, and installs them into a project.
//
//     install.mjs [PROJECT]
//
// PROJECT is the current folder if it is left out. Needs Rust, and Node 18 or newer with npm. The
// tarballs stay in `target/node/local`; the addon needs the C library of this machine, and
// `check.mjs build` makes packages for others.

import fs from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { OUT, ROOT, TARGET, VERSION, assembleMain, assemblePlatform, pack, run, say } from './packages.mjs'

const LOCAL = path.join(OUT, 'local')

function main () {
  const given = process.argv[2] ?? '.'
  if (given.startsWith('-')) {
    say('install.mjs [PROJECT] builds the packages and installs them, by default in the current folder')
    process.exit(['-h', '--help'].includes(given) ? 0 : 2)
  }
  const project = path.resolve(given)
  if (!fs.existsSync(project)) {
    process.stderr.write(`${project} does not exist: name the folder of a project\n`)
    process.exit(1)
  }
  run('cargo', ['build', '--release', '--locked', '--package', 'cairndb-node'], {
    cwd: ROOT,
    env: { CARGO_TARGET_DIR: TARGET, CARGO_PROFILE_RELEASE_STRIP: 'symbols' }
  })
  fs.rmSync(LOCAL, { recursive: true, force: true })
  const [main, addon] = ['main', 'addon'].map(name => path.join(LOCAL, name))
  assembleMain(main)
  assemblePlatform(addon, path.join(TARGET, 'release', 'libcairndb_node.so'))
  for (const folder of [main, addon]) pack(folder, LOCAL)
  const names = ['cairndb-level', `cairndb-level-linux-${process.arch}-gnu`]
  const tarballs = names.map(name => path.join(LOCAL, `${name}-${VERSION}.tgz`))
  run('npm', ['install', '--no-audit', '--no-fund', ...tarballs], { cwd: project })
  say(`installed @cairndb/level in ${project}`)
}

main()
