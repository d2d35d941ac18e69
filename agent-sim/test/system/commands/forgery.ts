import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { svc } from '@svc/proto'
import { transportKinds } from '@svc/agent-sim'
import { expect } from 'vitest'
import { openSigningKeys } from '../../../../control-plane/src/adapters/signing-keys.ts'
import { answersTo, attacksOn } from '../../attacks.ts'
import { signed } from '../../signer.ts'
import { until } from '../harness/until.ts'
import { tap, type Wiretap } from '../harness/wiretap.ts'
import type { Stage } from './stage.ts'

const args = (content: string) => ({ interpreter: 'sh', content, args: [], timeoutSeconds: 30 })

/** Each kind of agent: simulated over each transport, and the one of this machine. */
const targetsOf = ({ crowd, host }: Stage): string[] => {
  const kinds = transportKinds.map(
    (kind) => crowd.fleet.agents.find(({ via }) => via === kind)?.deviceId ?? '',
  )
  return [...kinds, host.deviceId]
}

const disownedOn = ({ crowd, host }: Stage): number =>
  crowd.fleet.stats().disowned + host.program.log().split(' disowned: ').length - 1

/** Whoever writes on the gateway's channel in Redis, and reads all that goes over it, has nothing carried out. */
export async function forgedOnTheBus(stage: Stage): Promise<void> {
  const { system } = stage
  const wire = await tap(system.redis.url, system.nodeOf(0))
  try {
    const keys = openSigningKeys(system.keysDir)
    const targets = targetsOf(stage)
    expect(new Set(targets).size).toBe(4)
    const real = await captured(stage, wire, targets)
    const before = await counts(stage)
    let wanted = { disowned: 0, again: 0, expired: 0 }
    const stolen = join(system.folder, 'stolen')
    for (const [at, deviceId] of targets.entries()) {
      const other = targets[(at + 1) % targets.length] ?? ''
      const attacks = attacksOn(deviceId, args(`touch ${stolen}`), {
        own: real.get(deviceId) ?? {},
        others: real.get(other) ?? {},
        sign: (body) => ({ body, ...keys.sign(body) }),
      })
      for (const { command } of attacks) await wire.deliver(deviceId, { command })
      const sums = answersTo(attacks)
      wanted = {
        disowned: wanted.disowned + sums.disowned,
        again: wanted.again + sums.again,
        expired: wanted.expired + sums.expired,
      }
    }
    // Counted by the agents, and by the server: what was disowned, what was said twice, what nobody had asked about.
    await until('all is refused and counted', async () => {
      const now = await counts(stage)
      return (
        now.agents - before.agents === wanted.disowned &&
        now.disowned - before.disowned === wanted.disowned &&
        now.duplicate - before.duplicate >= wanted.again &&
        now.unknown - before.unknown === wanted.expired
      )
    })
    expect(wanted.disowned).toBe(12 * 4)
    expect(existsSync(stolen)).toBe(false)
    expect(system.controlPlane(0).log() + system.controlPlane(1).log()).toContain('"command.disowned"')
  } finally {
    wire.close()
  }
}

const counts = async (stage: Stage) => ({
  agents: disownedOn(stage),
  disowned: await stage.counted('svc_inbox_reports_total', 'disowned'),
  duplicate: await stage.counted('svc_inbox_reports_total', 'duplicate'),
  unknown: await stage.counted('svc_inbox_reports_total', 'unknown'),
})

/** A command of each device, as it went by, carried out. */
async function captured(
  stage: Stage,
  wire: Wiretap,
  targets: readonly string[],
): Promise<Map<string, svc.v1.ICommand>> {
  const pairs = targets.map(async (deviceId) => {
    const id = await stage.script(deviceId, 'echo mine', { stdout: 'mine\n' })
    await stage.becomes(id, 'succeeded')
    const found = wire.commands.find((one) => one.deviceId === deviceId)?.command
    if (!found) throw new Error(`command ${id} did not go by`)
    return [deviceId, found] as const
  })
  return new Map(await Promise.all(pairs))
}

/** A frame that names a command which waits for its turn changes nothing of it: it runs, and ends as it would have. */
export async function forgedInItsName(stage: Stage): Promise<void> {
  const { system, crowd } = stage
  const wire = await tap(system.redis.url, system.nodeOf(0))
  try {
    const deviceId = crowd.ids[5] ?? ''
    const busy = [await stage.script(deviceId, 'sleep 2'), await stage.script(deviceId, 'sleep 2')]
    const waiting = await stage.script(deviceId, 'echo at last', { stdout: 'at last\n' })
    await Promise.all(busy.map((id) => stage.becomes(id, 'running')))
    expect(await stage.state(waiting)).toBe('queued')
    const disowned = () => crowd.events.filter((one) => one.kind === 'disowned' && one.id === waiting).length
    const { command } = signed({ deviceId, commandId: waiting, args: args('echo stolen') })
    await wire.deliver(deviceId, { command })
    await until('it is disowned', () => disowned() === 1)
    await stage.becomes(waiting, 'succeeded')
  } finally {
    wire.close()
  }
}

/** Whoever does have the key is obeyed: the way that forgeries take leads to agents, and what they do is noticed. */
export async function signedByItsKey(stage: Stage): Promise<string> {
  const { system, crowd } = stage
  const wire = await tap(system.redis.url, system.nodeOf(0))
  try {
    const deviceId = crowd.ids[0] ?? ''
    const { commandId, command } = signed({ deviceId, args: args('echo obeyed') })
    const body = command.body ?? new Uint8Array()
    await wire.deliver(deviceId, { command: { ...command, ...openSigningKeys(system.keysDir).sign(body) } })
    await until('it ran', () => crowd.executions().some((one) => one.commandId === commandId))
    return commandId
  } finally {
    wire.close()
  }
}
