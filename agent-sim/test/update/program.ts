/**
 * The agent with a hand in its swap, as a program of its own. Settings come from the environment. KILL_AT names the moment at which
 * launcher and agent are killed, once.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { launcherVariable } from '../../src/launcher/contract.ts'
import { runHost } from '../../src/cli/host.ts'
import { runLauncher } from '../../src/cli/run.ts'
import type { Swap } from '../../src/launcher/place.ts'

const { SVC_API: api = '', SVC_ENROLLMENT_KEY: key, SVC_AGENT_STATE: stateDir = '', KILL_AT } = process.env
const { CONTACT_WITHIN = '20' } = process.env

function moment(name: string): void {
  const once = join(stateDir, 'killed')
  if (name !== KILL_AT || existsSync(once)) return
  writeFileSync(once, name)
  process.kill(process.ppid, 'SIGKILL')
  process.kill(process.pid, 'SIGKILL')
}

const swap: Swap = {
  remove: async (path) => {
    moment('after backup')
    await unlink(path)
    moment('after unlink')
  },
  rename: async (from, to) => {
    await rename(from, to)
    moment('after rename')
  },
}

try {
  process.exitCode =
    process.argv[2] === 'host'
      ? await runHost({ api, key, stateDir, swap, launcher: process.env[launcherVariable] })
      : await runLauncher({ stateDir, contactWithin: Number(CONTACT_WITHIN), args: [] })
} catch (error) {
  console.error(error)
  process.exitCode = 1
}
