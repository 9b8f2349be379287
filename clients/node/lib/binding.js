'use strict'

// Loads the addon. Each platform has a package with it, of which npm installs the one that fits,
// because they are optional dependencies.

/** Packages by platform and architecture, as in `optionalDependencies`. */
const PACKAGES = {
  'linux-x64': '@cairndb/level-linux-x64-gnu',
  'linux-arm64': '@cairndb/level-linux-arm64-gnu'
}

function load () {
  const platform = `${process.platform}-${process.arch}`
  const name = PACKAGES[platform]
  if (name === undefined) {
    throw new Error(`@cairndb/level has no build for ${platform}; it runs on ${Object.keys(PACKAGES).join(', ')}`)
  }
  try {
    return require(name)
  } catch (cause) {
    const advice = cause.code === 'MODULE_NOT_FOUND'
      ? 'install it, without --omit=optional'
      : 'it needs glibc 2.17 or newer'
    throw new Error(`the addon of @cairndb/level, ${name}, cannot be loaded: ${advice}`, { cause })
  }
}

module.exports = load()
