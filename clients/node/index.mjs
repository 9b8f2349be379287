import package_ from './index.js'

export const Level = package_.Level
export const ClassicLevel = package_.ClassicLevel
