import { type KeyProof, isCurrent, verifyProof } from '@svc/proto'
import type { Bus } from '@svc/proto/bus'
import type { SecurityLog } from '@svc/proto/log'
import type { WorkerDb } from '../../kernel/db.ts'
import { tellDead } from '../status/tell-dead.ts'
import { tellFinished } from '../work/hints.ts'
import { quarantineAlive } from './quarantine.ts'
import { findShown, type ShownRow, takeIntoUse } from './rows.ts'

/** A token that a newcomer shows and its gateway does not know. */
export interface Shown {
  deviceId: string
  tokenSha256: Uint8Array
  proof: KeyProof | undefined
}

export interface PresentPorts {
  bus: Pick<Bus, 'publish'>
}

export interface PresentDeps {
  /** scope `system` */
  db: WorkerDb
  ports: PresentPorts
  security: SecurityLog
  /** what was replaced so lately may still be on its way from the device itself */
  replacedMs: number
  /** guards that a proof takes away: `generations`, without which a copy with an old token is refused and nothing else */
  without?: ReadonlySet<string>
}

const why = 'a token that had been replaced was shown: there is a copy of the device'

/**
 * Looks at what newcomers show, before gateways are told who their devices are. The next token of its device is taken into use, and the
 * present one dies with that, in one transaction: from its commit on the device is whoever has the next one. One of an earlier
 * generation locks the identity: of whoever shows it and whoever has the present one, one is a copy. Where the device enrolled with
 * a key, neither counts without its proof: only who is known can lock a device.
 *
 * @returns the devices of which a token was shown that was replaced a moment ago: too late to let in, too early to be an alarm
 */
export async function present(deps: PresentDeps, shown: readonly Shown[]): Promise<Set<string>> {
  const replaced = new Set<string>()
  if (shown.length === 0) return replaced
  for (const row of await findShown(deps.db, shown, deps.replacedMs)) {
    const one = shown.find((each) => isOf(each, row))
    if (!one || !(await isProven(one, row))) continue
    if (row.means === 'next') await takeNext(deps, one)
    else if (row.means === 'past') await lock(deps, row)
    else replaced.add(row.deviceId)
  }
  return replaced
}

const isOf = ({ deviceId, tokenSha256 }: Shown, row: ShownRow) =>
  deviceId === row.deviceId && row.tokenSha256.equals(tokenSha256)

async function isProven(shown: Shown, { publicKey }: ShownRow): Promise<boolean> {
  if (!publicKey) return true
  const { proof } = shown
  return (
    proof !== undefined && isCurrent(proof.atUs, Date.now() * 1000) && verifyProof(shown, proof, publicKey)
  )
}

async function takeNext({ db, ports }: PresentDeps, shown: Shown): Promise<void> {
  const dead = await db.tx((tx) => takeIntoUse(tx, shown))
  await tellDead(ports.bus, dead, 'SUPERSEDED')
}

async function lock(
  { db, ports, security, without }: PresentDeps,
  { deviceId, generation }: ShownRow,
): Promise<void> {
  if (without?.has('generations')) return
  const done = await db.tx((tx) => quarantineAlive(tx, deviceId, why))
  if (!done) return
  security('device.quarantined', why, { deviceId, generation })
  await tellDead(ports.bus, done.dead, 'QUARANTINED')
  await tellFinished(ports.bus, done.withdrawn)
}
