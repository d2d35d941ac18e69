import { randomBytes } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { makeDevices, openPipeline } from '../../../test/harness/pipeline.ts'
import { present } from './present.ts'
import { twoAgents, watchInstances } from './watch.ts'

const on = await openPipeline()
afterAll(() => on.close())
const { sql, db, deps } = on
const replacedMs = 300_000
const look = (deviceId: string, tokenSha256: Uint8Array) =>
  present({ db, ports: deps.ports, security: deps.security, replacedMs }, [
    { deviceId, tokenSha256, proof: undefined },
  ])

/** A device with a token, and one that was replaced so long ago. */
async function device(replaced = '1 hour') {
  const [id = ''] = await makeDevices(on, 1)
  const [now, past] = [randomBytes(32), randomBytes(32)]
  await sql`update devices set token_sha256 = ${now}, token_generation = 2 where id = ${id}`
  await sql`insert into device_past_tokens (device_id, token_sha256, partner_id, org_id, generation, retired_at)
    values (${id}, ${past}, ${on.partnerId}, ${on.orgId}, 1, now() - ${replaced}::interval)`
  return { id, now, past }
}

const lifecycle = async (id: string) =>
  (await sql<{ lifecycle: string }[]>`select lifecycle from devices where id = ${id}`)[0]?.lifecycle
const audited = (id: string) => sql`
  select actor_type, action, result, partner_id, org_id, details from audit_log where resource_id = ${id}`

test('a token of an earlier generation locks its device, once, and the audit log says that the server did it and why', async () => {
  const { id, past } = await device()
  await Promise.all([look(id, past), look(id, past)])
  await look(id, past)
  expect(await lifecycle(id)).toBe('quarantined')
  expect(await audited(id)).toEqual([
    {
      actorType: 'system',
      action: 'device.quarantine',
      result: 'success',
      partnerId: on.partnerId,
      orgId: on.orgId,
      details: { from: 'offline', reason: expect.stringContaining('replaced'), withdrawnCommands: 0 },
    },
  ])
  const told = on.logged.filter(({ details }) => 'deviceId' in details && details.deviceId === id)
  expect(told.map(({ level }) => level)).toEqual(['security'])
})

test('two that take turns are written down alike', async () => {
  const { id } = await device()
  const turns = ['a', 'b', 'a', 'b', 'a', 'b'].map((instance, n) => ({
    deviceId: id,
    epoch: n + 1,
    instance,
    atMs: Date.now() + n,
    mayFollow: false,
  }))
  expect((await db.tx((tx) => watchInstances(tx, turns.slice(0, 5)))).length).toBe(0)
  expect((await db.tx((tx) => watchInstances(tx, turns.slice(5)))).map((one) => one.deviceId)).toEqual([id])
  expect(await audited(id)).toMatchObject([{ actorType: 'system', details: { reason: twoAgents } }])
})

test('what cannot be written down is not done', async () => {
  const { id, past } = await device()
  await sql`alter function svc.write_audit rename to write_audit_away`
  try {
    await expect(look(id, past)).rejects.toThrow('write_audit')
  } finally {
    await sql`alter function svc.write_audit_away rename to write_audit`
  }
  expect([await lifecycle(id), await audited(id)]).toEqual(['active', []])
})

test('a token that was replaced a moment ago, one that was never the device’s and the present one are no alarm', async () => {
  const { id, now, past } = await device('1 minute')
  expect([...(await look(id, past))]).toEqual([id])
  expect([...(await look(id, randomBytes(32)))]).toEqual([])
  expect([...(await look(id, now))]).toEqual([])
  expect([await lifecycle(id), await audited(id)]).toEqual(['active', []])
})

test('a database that was restored to a moment before a renewal takes the agent’s later token for a stranger’s, and its earlier one for its present one', async () => {
  const { id, now } = await device()
  const later = randomBytes(32)
  // The renewal happened, and the database does not know of it: the agent shows what it has, latest first.
  await look(id, later)
  await look(id, now)
  expect([await lifecycle(id), await audited(id)]).toEqual(['active', []])
})
