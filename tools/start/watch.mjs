import { fork } from 'node:child_process'
import { watch } from 'node:fs'
import { join } from 'node:path'
import { isSource, root, sources } from '../bundle.mjs'

const settleMs = 250
const ownSwitches = ['--watch']
const agents = ['--agents', '3']

/**
 * Runs `npm start` again whenever a source file changes, with a handful of simulated agents unless told otherwise.
 * Resolves with its exit code when it is ended from outside.
 * @param {string[]} args the command line without node and script
 */
export async function watchAndRestart(args) {
  const rest = args.filter((arg) => !ownSwitches.includes(arg))
  const given = rest.some((arg) => arg.startsWith('--agents')) ? rest : [...rest, ...agents]
  let change = nextChange()
  let ended = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end(signal))
  let child

  function end(signal) {
    ended = true
    // Ctrl-C reaches the child by itself; it takes the two for one.
    if (!child || child.exitCode !== null) process.exit(0)
    child.kill(signal)
  }

  while (!ended) {
    child = fork(join(root, 'tools/start.mjs'), given, { stdio: 'inherit' })
    const exited = new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
    const what = await Promise.race([exited, change.promise])
    if (ended) return exited
    if (typeof what === 'number') {
      console.log('\nWaiting for a change …')
      await change.promise
    } else {
      console.log(`\n${what} changed: starting again.`)
      child.kill('SIGINT')
      await exited
    }
    change = nextChange()
  }
}

/** Resolves with the name of a changed source file once it has been quiet for a moment. */
function nextChange() {
  const watchers = []
  const promise = new Promise((resolve) => {
    let quiet
    for (const folder of sources) {
      const listener = (_, name) => {
        if (!name || !isSource(name)) return
        clearTimeout(quiet)
        quiet = setTimeout(() => {
          for (const watcher of watchers) watcher.close()
          resolve(join(folder, name))
        }, settleMs)
      }
      watchers.push(watch(join(root, folder), { recursive: true }, listener))
    }
  })
  return { promise }
}
