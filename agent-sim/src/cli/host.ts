import { join } from 'node:path'
import { startHost, type Unwanted } from '../host/host.ts'
import { exits } from '../launcher/contract.ts'
import type { Swap } from '../launcher/place.ts'
import { hostUpdater } from '../update/host-updater.ts'
import { pinnedKeys } from '../update/pinned-keys.ts'
import { trustedKeys } from '../update/trusted-keys.ts'
import { agentVersion } from '../version.ts'
import { untilSignal } from './signals.ts'

export interface HostArguments {
  api: string
  key?: string | undefined
  stateDir: string
  /** what releases are to be signed with, instead of what enrollment told */
  releaseKey?: string | undefined
  /** the version of the launcher that started this agent, if one did */
  launcher?: string | undefined
  /** the steps of a swap; a test's own */
  swap?: Swap
}

const log = (line: string): void => void process.stdout.write(`${new Date().toISOString()} ${line}\n`)

/**
 * Runs this machine's agent until it is told to end (0), another version is in its place (`exits.replaced`), or the server wants no
 * more of it (`exits.unwanted`).
 */
export async function runHost(options: HostArguments): Promise<number> {
  try {
    return await live(options)
  } finally {
    // The channel to the launcher would keep this process.
    if (process.connected) process.disconnect()
  }
}

async function live({ api, key, stateDir, releaseKey, launcher, swap }: HostArguments): Promise<number> {
  const told = Promise.race([untilSignal(), untilAlone(launcher)])
  const starting = new AbortController()
  void told.then(() => starting.abort(new Error('told to end')))
  const pinned = releaseKey === undefined ? undefined : await pinnedKeys(releaseKey)
  const host = await startHost({
    api,
    stateDir,
    log,
    signal: starting.signal,
    updater: ({ releaseKeys }) => {
      const trusted = trustedKeys(pinned ?? releaseKeys)
      return hostUpdater({ stateDir, api, version: agentVersion, launcher, trusted, ...(swap && { swap }) })
    },
    ...(key === undefined ? {} : { enrollmentKey: key }),
  }).catch((error: unknown) => {
    if (starting.signal.aborted) return undefined
    throw error
  })
  if (!host) return 0
  const replaced = host.replaced.then(() => 'replaced' as const)
  const why = await Promise.race([told.then(() => undefined), host.ended, replaced])
  await host.stop()
  if (why === undefined) return 0
  if (why === 'replaced') return exits.replaced
  log(epitaph(why, stateDir))
  return exits.unwanted
}

/** Resolves when the launcher that started this agent is gone: its next one will start another agent. */
const untilAlone = (launcher: string | undefined): Promise<void> =>
  new Promise((resolve) => {
    if (launcher === undefined) return
    if (process.connected) process.once('disconnect', resolve)
    else resolve()
  })

/** What to do about an end that waiting does not mend. */
const epitaph = ({ reason, text }: Unwanted, stateDir: string): string =>
  reason.startsWith('CREDENTIAL')
    ? `the server does not accept this device's credential (${reason}${text && `: ${text}`}); ` +
      `to enroll again remove ${join(stateDir, 'identity.json')}`
    : `the server wants no more of this device (${reason}${text && `: ${text}`})`
