import { requireNode } from './install.mjs'

requireNode()
// Only now: an older Node would stop at an import that it does not know.
const { launch } = await import('./start/launch.mjs')
await launch('start')
