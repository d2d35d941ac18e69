import { beforeEach, describe, expect, test } from 'vitest'
import type { Person } from '../../test/harness/people.ts'
import { anyId, seen, thingsApp } from '../../test/harness/things.ts'

const t = await thingsApp()
const { request, people, make, db } = t
const partnerId = await make.partner()
const admin = await people.partnerAdmin(partnerId)
const orgId = (await make.org(partnerId)).orgId

beforeEach(() => {
  seen.runs = 0
  seen.effects = []
})

const auditRows = (action: string) => db.rows<Record<string, unknown>>`
  select a.* from audit_log a where a.action = ${action} order by a.at, a.id`
const things = async (as: Person, name: string) => {
  const { body } = await request('GET /things?limit=500', as)
  return body.data.filter((thing: { name: string }) => thing.name === name)
}

describe('a write', () => {
  test('commits its row, one audit row and its event together, and then starts its seen.effects', async () => {
    const { status, body } = await request('POST /things', admin, {
      body: { name: 'whole' },
      headers: { 'user-agent': 'test\u0007agent' },
    })
    expect(status).toBe(201)
    const audit = (await auditRows('thing.make')).filter((row) => row['resourceId'] === body.id)
    expect(audit).toHaveLength(1)
    expect(audit[0]).toMatchObject({
      partnerId,
      orgId: body.id,
      actorType: 'user',
      actorId: admin.userId,
      actorEmail: admin.email,
      resourceType: 'thing',
      resourceName: 'whole',
      result: 'success',
      ip: '127.0.0.1',
    })
    expect(await db.rows`select e.type, e.partner_id from outbox e where e.subject_id = ${body.id}`).toEqual([
      { type: 'thing.made', partnerId },
    ])
    expect(seen.effects).toEqual(['whole'])
  })

  test.each([
    ['refused', 409, 'CONFLICT'],
    ['broken', 500, 'INTERNAL'],
  ])('that is %s leaves nothing', async (name, status, code) => {
    const before = (await auditRows('thing.make')).length
    const answer = await request('POST /things', admin, { body: { name } })
    expect([answer.status, answer.body.error.code]).toEqual([status, code])
    expect(JSON.stringify(answer.body)).not.toContain('secret detail')
    expect(await things(admin, name)).toEqual([])
    expect(await auditRows('thing.make')).toHaveLength(before)
    expect(await db.rows`select from outbox e where e.payload ->> 'name' = ${name}`).toHaveLength(0)
    expect(seen.effects).toEqual([])
  })

  test.each(['audit_log', 'outbox'])('leaves nothing when %s does not take its row', async (table) => {
    await t.owner`alter table svc.${t.owner(table)} add constraint full_up check (false) not valid`
    try {
      const answer = await request('POST /things', admin, { body: { name: `no ${table}` } })
      expect([answer.status, answer.body.error.code]).toEqual([400, 'VALIDATION_ERROR'])
    } finally {
      await t.owner`alter table svc.${t.owner(table)} drop constraint full_up`
    }
    expect(await things(admin, `no ${table}`)).toEqual([])
    expect(seen.effects).toEqual([])
  })

  test('of a user of selected organizations is audited, too', async () => {
    const selected = await people.partnerMember(partnerId, [orgId])
    expect((await request('POST /things/secret', selected)).status).toBe(200)
    const [row] = (await auditRows('thing.secret')).filter(({ actorId }) => actorId === selected.userId)
    expect(row).toMatchObject({ partnerId, orgId })
  })

  test('without an answer is 204', async () => {
    const { status, body } = await request(`POST /things/${anyId}/nothing`, admin)
    expect([status, body]).toEqual([204, ''])
  })

  test('that waits does so after its commit', async () => {
    const { body } = await request('POST /things/wait', admin)
    expect(body).toEqual({ handle: expect.any(String), inTransaction: false })
  })
})

describe('with an Idempotency-Key', () => {
  const send = (key: string, name: string, as = admin) =>
    request('POST /things', as, { body: { name }, headers: { 'idempotency-key': key } })

  test('the same request is answered again, and done once', async () => {
    const [first, second] = [await send('k1', 'once'), await send('k1', 'once')]
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body).toEqual(first.body)
    expect([first.headers['idempotency-replayed'], second.headers['idempotency-replayed']]).toEqual([
      undefined,
      'true',
    ])
    expect([seen.runs, (await things(admin, 'once')).length, seen.effects.length]).toEqual([1, 1, 1])
  })

  test('another body is refused', async () => {
    await send('k2', 'one')
    const { status, body } = await send('k2', 'two')
    expect([status, body.error.code]).toEqual([422, 'IDEMPOTENCY_MISMATCH'])
  })

  test('ten at once are done once, and all get the one answer', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => send('k3', 'slow')))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect(await things(admin, 'slow')).toHaveLength(1)
  })

  test('an error is not remembered', async () => {
    expect((await send('k4', 'refused')).status).toBe(409)
    expect((await send('k4', 'kept')).status).toBe(201)
  })

  test('who sees less by now, or more, is not answered again: it would be another answer', async () => {
    const selected = await people.partnerMember(partnerId, [orgId])
    const again = () => request('POST /things/secret', selected, { headers: { 'idempotency-key': 'k6' } })
    expect((await again()).status).toBe(200)
    expect((await again()).headers['idempotency-replayed']).toBe('true')
    const { orgId: added } = await make.org(partnerId)
    for (const orgIds of [[], [orgId, added]]) {
      await t.owner`
        update svc.partner_memberships set org_ids = ${orgIds} where user_id = ${selected.userId}`
      await t.core.ports.callers.changed(selected.userId)
      const { status, body } = await again()
      expect([status, body.error.code]).toEqual([422, 'IDEMPOTENCY_MISMATCH'])
    }
    await t.owner`
      update svc.partner_memberships set org_ids = ${[orgId]} where user_id = ${selected.userId}`
    await t.core.ports.callers.changed(selected.userId)
    expect((await again()).headers['idempotency-replayed']).toBe('true')
  })

  test('keys of different people have nothing to do with each other', async () => {
    const other = await people.partnerAdmin(partnerId)
    const stranger = await people.partnerAdmin(await make.partner())
    const answers = [await send('k5', 'a'), await send('k5', 'b', other), await send('k5', 'c', stranger)]
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
  })

  test('a day later it is forgotten', async () => {
    await send('k6', 'day')
    await t.owner`update idempotency set created_at = created_at - interval '25 hours'`
    expect((await send('k6', 'day')).headers['idempotency-replayed']).toBeUndefined()
    expect(await things(admin, 'day')).toHaveLength(2)
  })

  test('a secret that is shown once is shown again to who has the key, and stands nowhere in clear', async () => {
    const key = { headers: { 'idempotency-key': 'k7' } }
    const [first, second] = [
      await request('POST /things/secret', admin, key),
      await request('POST /things/secret', admin, key),
    ]
    expect(second.body).toEqual(first.body)
    const rows = await t.owner<
      { answer: Uint8Array }[]
    >`select answer from idempotency where route = 'POST /things/secret'`
    expect(rows.length).toBeGreaterThan(0)
    for (const { answer } of rows) expect(Buffer.from(answer).includes(first.body.secret)).toBe(false)
  })

  test('one that waits is repeated with what it waited for', async () => {
    const key = { headers: { 'idempotency-key': 'k8' } }
    const [first, second] = [
      await request('POST /things/wait', admin, key),
      await request('POST /things/wait', admin, key),
    ]
    expect(second.body.handle).toBe(first.body.handle)
  })

  test.each(['', 'ä', 'a b', 'x'.repeat(256)])('a key that is %j is refused', async (key) => {
    expect((await send(key, 'x')).status).toBe(400)
  })
})
