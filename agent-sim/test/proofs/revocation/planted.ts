import { setTimeout as sleep } from 'node:timers/promises'
import { type Row, within } from '../verdict.ts'
import { endsOf } from './devices.ts'
import { Holder } from './people.ts'
import { promisedMs } from './round.ts'
import { blows, type Tenant } from './tenants.ts'
import type { World } from './world.ts'

/** Guards that can be taken away from programs of their own, by the name of the guard. */
export const revocationPlants = ['revocations', 'standing_expiry'] as const

/** What is seen at the programs without their guards, in the way in which the others are judged; none of these passes. */
export const plantedRows = {
  people: 'planted: a disabled user and a revoked key are accepted',
  devices: 'planted: connections last',
} as const

/** A revocation that is not felt by then breaks the promise. */
const notPromisedMs = promisedMs + 500

/**
 * @param plane URL of a control plane without one
 * @param tenant whose devices are connected at a gateway without one
 */
export async function planted(world: World, plane: string, tenant: Tenant): Promise<Row[]> {
  const people = await Promise.all(
    ['a user who is disabled', 'an API key that is revoked'].map((kind) => Holder.of(world, kind, [plane])),
  )
  const felt = Promise.all(people.map((one, index) => one.act(index, notPromisedMs)))
  const [admin] = world.administrators
  if (!admin) throw new Error('nobody administers')
  const began = Date.now()
  await blows['devices are decommissioned'].act(admin, tenant)
  const acted = Date.now()
  await sleep(notPromisedMs)
  const { spansMs } = endsOf(tenant.crowd, tenant.crowd.ids, { began, acted }, 'DECOMMISSIONED')
  const requestsMs = (await felt).flatMap((one) => one.requestsMs)
  return [
    within(plantedRows.people, promisedMs, requestsMs),
    within(plantedRows.devices, promisedMs, spansMs),
  ]
}
