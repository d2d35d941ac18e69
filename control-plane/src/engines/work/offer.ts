import { createHash } from 'node:crypto'
import { svc } from '@svc/proto'
import { toWire } from '@svc/proto/trace'
import type { SigningKeys } from '../../adapters/signing-keys.ts'
import type { WorkerDb } from '../../kernel/db.ts'
import type { Pipeline } from '../../pipeline.ts'
import { type Claimed, claim, findOwed, giveBack } from './claim.ts'
import { deliver, type Outlet } from './deliver.ts'
import type { Trail } from './trail.ts'

/** What offering needs of the ports. */
export interface OfferPorts {
  bus: Outlet
  signingKeys: SigningKeys
  trail: Trail
  config: { pipeline: Pick<Pipeline, 'commandLeaseMs'> }
}

/**
 * Offers these devices what they are owed: commands, signed now, and requests to cancel. Returns how many went
 * out. The claim commits first: a frame that is lost is offered again when its lease has run out, or on the next connection; one
 * that no gateway heard, at the next occasion.
 */
export async function offerOwed(
  db: WorkerDb,
  ports: OfferPorts,
  deviceIds: readonly string[],
): Promise<number> {
  // Nobody would hear it, and a lease would keep those from offering it who are heard.
  if (!ports.bus.up) return 0
  return offerTo(db, ports, await findOwed(db, deviceIds))
}

/** As {@link offerOwed}, for devices of which it is known that something is owed to them: they are not looked up first. */
export async function offerTo(db: WorkerDb, ports: OfferPorts, owed: readonly string[]): Promise<number> {
  if (!ports.bus.up || owed.length === 0) return 0
  const claimed = await db.tx((tx) => claim(tx, owed, ports.config.pipeline.commandLeaseMs))
  claimed.sort((a, b) => a.seq - b.seq)
  const heard = await Promise.all(claimed.map((item) => offer(ports, item)))
  const unheard = claimed.filter((_, i) => !heard[i])
  if (unheard.length > 0) await db.tx((tx) => giveBack(tx, unheard))
  return claimed.length - unheard.length
}

async function offer({ bus, signingKeys, trail }: OfferPorts, item: Claimed): Promise<boolean> {
  const span = item.cancel ? undefined : trail.offer(item, item.attempt)
  const trace = span ? toWire(span.trace) : null
  const heard = await deliver(bus, item, frameOf(item, signingKeys, trace), { commandId: item.id, trace })
  span?.end({}, heard ? undefined : 'no gateway heard it')
  trail.offers[kindOf(item)]++
  if (!heard) trail.offers.unheard++
  return heard
}

const kindOf = ({ cancel, attempt }: Claimed) => (cancel ? 'cancel' : attempt > 1 ? 'again' : 'first')

function frameOf(item: Claimed, keys: SigningKeys, trace: svc.v1.ITrace | null): svc.v1.IEnvelope {
  if (item.cancel) return { commandCancel: { commandId: item.id } }
  const body = commandBody(item)
  return { command: { body, ...keys.sign(body), attempt: item.attempt, trace } }
}

/** The signed part. The same command gives the same bytes at every attempt. */
function commandBody(item: Claimed): Uint8Array {
  const args = Buffer.from(JSON.stringify(item.args))
  return svc.v1.CommandBody.encode({
    commandId: item.id,
    deviceId: item.deviceId,
    orgId: item.orgId,
    type: item.type,
    args,
    argsSha256: createHash('sha256').update(args).digest(),
    notBeforeMs: item.notBefore.getTime(),
    expiresAtMs: item.expiresAt.getTime(),
    seq: item.seq,
    timeoutMs: item.timeoutMs,
    issuedBy: item.issuedBy,
    lane: item.lane,
  }).finish()
}
