'use strict'

// The suite of `abstract-level`, which every database with its interface must pass, for both classes.

const { after, test } = require('node:test')
const assert = require('node:assert')
const { spawn } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

if (process.env.CAIRN_NODE_SUITE) {
  const package_ = require('@cairndb/level')
  const Class = package_[process.env.CAIRN_NODE_SUITE]
  const directory = () => fs.mkdtempSync(path.join(os.tmpdir(), 'db-'))
  require('abstract-level/test')({
    test: require('tape'),
    factory: options => new Class(directory(), options)
  })
} else {
  for (const name of ['Level', 'ClassicLevel']) {
    test(`${name} passes the suite of abstract-level`, async () => {
      // The suite makes thousands of databases, and removes none.
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'suite-'))
      after(() => fs.rmSync(folder, { recursive: true }))
      const child = spawn(process.execPath, [__filename], {
        env: { ...process.env, CAIRN_NODE_SUITE: name, NODE_TEST_CONTEXT: undefined, TMPDIR: folder },
        stdio: ['ignore', 'pipe', 'inherit']
      })
      let text = ''
      child.stdout.setEncoding('utf8').on('data', data => { text += data })
      const code = await new Promise(resolve => child.on('close', resolve))
      const failed = text.split('\n').filter(line => line.startsWith('not ok'))
      assert.deepStrictEqual(failed, [])
      assert.strictEqual(code, 0)
      // A suite that ended early would fail nothing.
      assert.ok(Number(text.match(/^# pass +(\d+)$/m)[1]) > 5000)
    })
  }
}
