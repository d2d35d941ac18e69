import { tellDead } from '../engines/status/tell-dead.ts'
import { answerCheckIns, type UpdatePorts } from '../engines/updates/offer.ts'
import { deliver, type Outlet, supersede } from '../engines/work/deliver.ts'
import { tellFinished } from '../engines/work/hints.ts'
import { offerOwed, type OfferPorts } from '../engines/work/offer.ts'
import type { WorkerDb } from '../kernel/db.ts'
import type { Outcome } from './apply.ts'

/**
 * After the commit: tells agents what is committed, callers what has ended, gateways whose connections are outdated, and offers
 * what is owed and what is new. All of it may be lost: agents say again what was not acknowledged, and what is owed is offered again.
 */
export async function answer(db: WorkerDb, ports: OfferPorts & UpdatePorts, outcome: Outcome): Promise<void> {
  const { reports, inventories, refused, reachable, checkIns, staged, quarantined } = outcome
  for (const { command, said, became, via } of reports.trailed)
    ports.trail.reported(command, said, became, via)
  await Promise.all([
    ...reports.acknowledge.map(({ from, commandId }) =>
      deliver(ports.bus, from, { resultAck: { commandId } }),
    ),
    ...reports.stop.map(({ from, commandId }) => deliver(ports.bus, from, { commandCancel: { commandId } })),
    ...inventories.map(({ from, kind, hash }) => deliver(ports.bus, from, { inventoryAck: { kind, hash } })),
    ...staged.map(({ from, tokenSha256 }) => deliver(ports.bus, from, { credentialStaged: { tokenSha256 } })),
    ...refused.map((one) => evict(ports.bus, one)),
    ...quarantined.map(({ dead }) => tellDead(ports.bus, dead, 'QUARANTINED')),
    tellFinished(
      ports.bus,
      quarantined.flatMap(({ withdrawn }) => withdrawn),
    ),
    tellFinished(ports.bus, reports.finished),
  ])
  await Promise.all([offerOwed(db, ports, reachable), answerCheckIns(db, ports, checkIns)])
}

/** Whoever refuses a lower epoch says so to that node, and the agent is admitted again above it. */
async function evict(outlet: Outlet, { presence, epoch }: Outcome['refused'][number]): Promise<void> {
  if (epoch === undefined || presence.node === null) return
  await supersede(outlet, { deviceId: presence.deviceId, node: presence.from }, epoch)
}
