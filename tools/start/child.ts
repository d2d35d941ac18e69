import { giveUp, openLog, ownOutput, type OpenLog } from '@svc/proto/log'
import type { FromChild } from './processes.ts'

/** The environment that a part is configured by. */
export type Settings = Record<string, string>

/** One part of the product, running in this process. */
export interface Role {
  /** What the parent is told: addresses, ids. */
  ready: unknown
  /** Ends it in an orderly way. */
  close: () => Promise<void>
}

/** @param log of this process, for what has no log of its own */
export type StartRole = (
  settings: Settings,
  news: (text: string) => void,
  log: OpenLog['log'],
) => Promise<Role>

const roles = {
  server: async () => (await import('./roles/server.ts')).server,
  'control-plane': async () => (await import('./roles/server.ts')).controlPlane,
  gateway: async () => (await import('./roles/gateway.ts')).gateway,
  fleet: async () => (await import('./roles/agents.ts')).fleet,
  host: async () => (await import('./roles/agents.ts')).host,
} satisfies Record<string, () => Promise<StartRole>>

export type RoleName = keyof typeof roles

const services = {
  server: 'control-plane',
  'control-plane': 'control-plane',
  gateway: 'gateway',
  fleet: 'agents',
  host: 'agents',
} as const satisfies Record<RoleName, string>

const tell = (message: FromChild) => {
  if (process.connected) process.send?.(message)
}

/** Runs the role named on the command line until the parent says SIGTERM or is gone. */
async function main(name: RoleName, output: OpenLog) {
  ownOutput(output)
  const settings = new Promise<Settings>((resolve) => process.once('message', resolve))
  const running: { role?: Role; ending?: true } = {}
  const end = async () => {
    if (running.ending) return
    running.ending = true
    await running.role?.close()
    process.exit(0)
  }
  process.on('SIGTERM', () => void end())
  process.on('disconnect', () => void end())
  // With the parent gone its terminal may be gone, too.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

  const start: StartRole = await roles[name]()
  running.role = await start(await settings, (news) => tell({ news }), output.log)
  tell({ ready: running.role.ready })
}

const name = process.argv[2] as RoleName
const output = openLog({ service: services[name], level: 'info' })
main(name, output).catch((error: unknown) => {
  const failed: FromChild = { failed: error instanceof Error ? error.message : String(error) }
  if (process.connected) process.send?.(failed, () => giveUp(output, error, false, 1))
  else giveUp(output, error, false, 1)
})
