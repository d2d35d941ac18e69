import { randomUUID } from 'node:crypto'
import { RedisBus } from '@svc/proto/bus'
import type postgres from 'postgres'
import { Client } from '../load/client.ts'
import { median } from '../load/percentile.ts'
import { openDatabase } from '../peers/reads.ts'
import { createCommand } from '../peers/writes.ts'
import { deviceId } from '../stage/devices.ts'
import type { Stage } from '../stage/stage.ts'

/** How often each part is on the way of one command. */
const times = {
  /** the request that creates, and the one that waits */
  http: 2,
  /** to the workers, to the gateway, up again, and to the waiting caller */
  hop: 4,
} as const

/** ms, medians: what each part takes when it happens alone. */
export interface Parts {
  insert: number
  claim: number
  result: number
  read: number
  http: number
  hop: number
  agent: number
}

export const sumOf = ({ insert, claim, result, read, http, hop, agent }: Parts): number =>
  insert + claim + result + read + times.http * http + times.hop * hop + agent

async function medianOf(count: number, once: (number: number) => Promise<unknown>): Promise<number> {
  const took: number[] = []
  for (let number = 0; number < count; number++) {
    const began = performance.now()
    await once(number)
    took.push(performance.now() - began)
  }
  return median(took)
}

/**
 * Each part of a command's way alone, one after the other: the transactions from a script without scope, a message over Redis and back to the
 * same process, a request that does nothing, and a heartbeat to the gateway and back. The devices of the transactions have no connection.
 * @param spare devices that nothing is connected as: so many after that one
 */
export async function measureParts(
  stage: Stage,
  spare: { after: number; count: number },
  count: number,
  agent: () => Promise<number>,
): Promise<Parts> {
  const sql = openDatabase(stage.databaseUrl, 1)
  const bus = new RedisBus(stage.redis.url)
  const client = new Client(stage.apiUrl)
  try {
    const made: string[] = []
    const device = (number: number) => deviceId(spare.after + 1 + (number % spare.count))
    const args = { type: 'run_script', payload: { interpreter: 'sh', content: 'true' } }
    const insert = await medianOf(count, async (number) => {
      const command = (await createCommand(sql, stage.place.userId, device(number), args)) as { id: string }
      made.push(command.id)
    })
    const ids = (number: number) => [made[number] ?? '', device(number)] as const
    return {
      insert,
      claim: await medianOf(count, (number) => claim(sql, ...ids(number))),
      result: await medianOf(count, (number) => finish(sql, ...ids(number))),
      read: await medianOf(count, (number) => read(sql, ...ids(number))),
      http: await medianOf(count, () => client.ask(200, 'GET', '/health')),
      hop: await hop(bus, count),
      agent: await agent(),
    }
  } finally {
    client.close()
    await bus.close()
    await sql.end({ timeout: 5 })
  }
}

/** What is owed is found and leased. */
async function claim(sql: postgres.Sql, id: string, device: string): Promise<void> {
  await sql`select c.device_id from commands c where c.owed and c.device_id = ${device}`
  await sql.begin(async (tx) => {
    await tx`select d.id from devices d where d.id = ${device} and d.lifecycle = 'active' for no key update`
    await tx`
      update commands c set lease_until = now() + interval '30 seconds', offered_epoch = 1, attempt = c.attempt + 1
      where c.id = ${id} and c.status = 'queued' returning c.id, c.args, c.expires_at`
  })
}

/** The result is kept, with its event. */
async function finish(sql: postgres.Sql, id: string, device: string): Promise<void> {
  await sql.begin(async (tx) => {
    const [command] = await tx`
      select c.id, c.partner_id, c.org_id, c.status from commands c where c.id = ${id} for update`
    if (!command) throw new Error(`command ${id} is not there`)
    await tx`
      update commands c set status = 'succeeded', result_at = now(), finished_at = now(), lease_until = null, delivered_at = now(),
        started_at = now(), exit_code = 0, stdout = ${Buffer.from('done\n')}, stdout_encoding = 'utf-8', stdout_size = 5,
        stdout_truncated = false
      where c.id = ${id}`
    await tx`
      insert into outbox (id, partner_id, org_id, type, subject_id, payload)
      values (${randomUUID()}, ${command['partnerId']}, ${command['orgId']}, 'command.finished', ${device},
        ${tx.json({ commandId: id, deviceId: device, type: 'run_script', status: 'succeeded' })})`
  })
}

/** The waiting caller's answer is read. */
async function read(sql: postgres.Sql, id: string, device: string): Promise<void> {
  const [command] = await sql<{ status: string }[]>`
    select c.* from commands c where c.id = ${id} and c.device_id = ${device}`
  if (command?.status !== 'succeeded') throw new Error(`command ${id} is ${command?.status}`)
}

/** From a publication to its arrival. */
async function hop(bus: RedisBus, count: number): Promise<number> {
  const channel = `bench:${randomUUID()}`
  let arrived = () => {}
  await bus.subscribe(channel, () => arrived())
  const payload = Buffer.alloc(200)
  return medianOf(count, async () => {
    const heard = new Promise<void>((resolve) => {
      arrived = resolve
    })
    if ((await bus.publish(channel, payload)) !== 1) throw new Error('nobody heard what was published')
    await heard
  })
}
