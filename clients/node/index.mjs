import package_ from './index.js'

export const Keys = package_.Keys
export const Keyspace = package_.Keyspace
export const Level = package_.Level
export const ClassicLevel = package_.ClassicLevel
export const diff = package_.diff
