'use strict'

const { diff } = require('./lib/diff')
const { Keys } = require('./lib/keys')
const { Keyspace } = require('./lib/keyspace')
const { Level } = require('./lib/level')
const { ClassicLevel } = require('./lib/classic-level')

exports.Keys = Keys
exports.Keyspace = Keyspace
exports.Level = Level
exports.ClassicLevel = ClassicLevel
exports.diff = diff
