/** With `--import`: no system has a binary of uWebSockets.js that runs. */
import { register } from 'node:module'

const hooks = `export const resolve = (specifier, context, next) => {
  if (specifier === 'uWebSockets.js') throw new Error('no binary for this system')
  return next(specifier, context)
}`

register(`data:text/javascript,${encodeURIComponent(hooks)}`)
