import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { lockFolder } from '../identity/lock.ts'
import { launch } from '../launcher/launcher.ts'
import { agentVersion, isRelease } from '../version.ts'
import { untilSignal } from './signals.ts'

export interface RunArguments {
  stateDir: string
  /** how long a new version may take to reach the server */
  contactWithin: number
  /** of the agent, as they are given to it */
  args: readonly string[]
}

const log = (line: string): void => void process.stdout.write(`${new Date().toISOString()} ${line}\n`)

/** Keeps this machine's agent running, and whole. Rejects where another launcher does, or this program is no release. */
export async function runLauncher({ stateDir, contactWithin, args }: RunArguments): Promise<number> {
  if (!isRelease) throw new Error('only a release can be launched: build one, or use `agent host`')
  const ending = new AbortController()
  void untilSignal().then(() => ending.abort())
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  const release = await lockFolder(join(stateDir, 'bin'))
  try {
    return await launch({
      stateDir,
      own: await realpath(process.argv[1] ?? ''),
      version: agentVersion,
      args: ['host', ...args],
      contactWithinMs: contactWithin * 1000,
      log,
      signal: ending.signal,
    })
  } finally {
    await release()
  }
}
