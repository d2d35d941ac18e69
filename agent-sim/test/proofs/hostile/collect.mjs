import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Loaded into a gateway before its program: collects garbage every so often, so that what is resident is what is held. Left to itself
 * V8 lets a heap grow to several times what lives in it before it looks, and a leak could not be told from that.
 */
setFlagsFromString('--expose-gc')
const everyMs = 15_000
/** @type {() => void} */
const collect = runInNewContext('gc')
setInterval(() => collect(), everyMs).unref()
