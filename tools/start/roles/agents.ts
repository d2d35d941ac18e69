import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EnrollmentRefused, type Host, parseMix, startFleet, startHost, transportKinds } from '@svc/agent-sim'
import type { StartRole } from '../child.ts'
import { Losses } from './losses.ts'

/** A second start has them all back at once; a first one enrolls each. */
const rampPerSecond = 100

const required = (settings: Record<string, string>, name: string): string => {
  const value = settings[name]
  if (!value) throw new Error(`${name} is not set`)
  return value
}

const gateways = (settings: Record<string, string>): string[] => required(settings, 'GATEWAYS').split(',')

/** What is told of agents: how many are connected, and one of them. */
export interface Agents {
  connected: number
  /** how many of them by which transport, for people */
  spread: string
  deviceId: string | undefined
}

/** The simulated agents. Ready when each was admitted once or is lost, or when the patience is at its end. */
export const fleet: StartRole = async (settings, news) => {
  const stateDir = required(settings, 'STATE')
  const losses = new Losses(news)
  const fleet = await startFleet({
    api: required(settings, 'API'),
    enrollmentKey: required(settings, 'ENROLLMENT_KEY'),
    gateways: gateways(settings),
    transports: parseMix(required(settings, 'TRANSPORTS')),
    agents: Number(required(settings, 'AGENTS')),
    rampPerSecond,
    stateDir,
    ledgerDir: join(stateDir, 'ledgers'),
    prefix: 'demo-',
    replace: true,
    observe: (number, event) => losses.take(number, event),
  })
  if (fleet.idle > 0)
    news(`of earlier starts ${fleet.idle} more stay offline, because fewer agents are asked for`)
  await Promise.race([fleet.ready(), sleep(Number(required(settings, 'PATIENCE_MS')))])
  losses.atStart()
  const here = fleet.agents.filter(({ agent }) => agent.isConnected)
  const spread = transportKinds.flatMap((kind) => {
    const count = here.filter(({ via }) => via === kind).length
    return count > 0 ? [`${count} over ${kind}`] : []
  })
  const ready: Agents = { connected: here.length, spread: spread.join(', '), deviceId: here[0]?.deviceId }
  return { ready, close: () => fleet.stop() }
}

/**
 * The agent of this machine. Ready when it was admitted, when it has no hope of that, or when the patience is at its end: everything
 * else goes on without it. A device that the server no longer wants makes room for another one.
 */
export const host: StartRole = async (settings, news, log) => {
  const begin = () =>
    startHost({
      api: required(settings, 'API'),
      enrollmentKey: required(settings, 'ENROLLMENT_KEY'),
      gateways: gateways(settings),
      stateDir: required(settings, 'STATE'),
      log: (line, fields) => log.info(fields ?? {}, line),
    })
  const patienceMs = Number(required(settings, 'PATIENCE_MS'))
  try {
    const first = await begin()
    const host = (await isWanted(first, patienceMs))
      ? first
      : await enrollAnew(first, required(settings, 'STATE'), begin, news)
    if (host !== first) await isWanted(host, patienceMs)
    void host.ended.then(
      (why) =>
        why &&
        news(`this machine’s device was removed (${why.reason}); the next \`npm start\` enrolls it anew`),
    )
    const connected = Number(host.agent.isConnected)
    const ready: Agents = { connected, spread: '', deviceId: connected ? host.deviceId : undefined }
    return { ready, close: () => host.stop() }
  } catch (error) {
    if (!(error instanceof EnrollmentRefused)) throw error
    news(`this machine is no device: ${error.message}`)
    return {
      ready: { connected: 0, spread: '', deviceId: undefined } satisfies Agents,
      close: async () => {},
    }
  }
}

/** False when the server said that it wants no more of the device. */
const isWanted = (host: Host, withinMs: number): Promise<boolean> =>
  Promise.race([
    host.admitted.then(() => true),
    host.ended.then((why) => why === undefined),
    sleep(withinMs, true, { ref: false }),
  ])

/** With an identity and a ledger of its own: what the old one owed, nobody waits for. */
async function enrollAnew(
  old: Host,
  stateDir: string,
  begin: () => Promise<Host>,
  news: (text: string) => void,
): Promise<Host> {
  await old.stop()
  await rm(stateDir, { recursive: true, force: true })
  const host = await begin()
  news(`the server no longer wants ${old.deviceId}: this machine is enrolled anew, as ${host.deviceId}`)
  return host
}
