'use strict'

const { Level } = require('./lib/level')
const { ClassicLevel } = require('./lib/classic-level')

exports.Level = Level
exports.ClassicLevel = ClassicLevel
