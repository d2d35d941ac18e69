/** Loaded before a measured program: SIGUSR2 makes it collect garbage and say so. For benches alone. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
let times = 0

process.on('SIGUSR2', () => {
  // Twice: what a finalizer lets go of is only then to be had. Then back to the system what the allocator keeps.
  collect()
  setTimeout(() => {
    collect()
    process.stderr.write(`memory collected ${++times}\n`)
  }, 100)
})
