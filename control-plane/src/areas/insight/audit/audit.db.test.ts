import { v7 as uuid } from 'uuid'
import { beforeAll, describe, expect, test } from 'vitest'
import { testApp } from '../../../../test/harness/app.ts'
import type { Person } from '../../../../test/harness/people.ts'

const { make, people, request, owner, clock } = await testApp()

interface Row {
  at?: string
  org?: string | null
  action?: string
  actor?: string | null
  email?: string | null
  type?: string
  id?: string | null
  name?: string | null
  result?: string
  details?: object
}
let partnerId: string
let orgId: string
let boss: Person

/** Rows of `partnerId`, as they are. */
async function write(rows: readonly Row[]): Promise<string[]> {
  const made = rows.map((row) => ({ key: uuid(), ...row }))
  await owner`
    insert into svc.audit_log (id, at, partner_id, org_id, actor_type, actor_id, actor_email, action, resource_type, resource_id,
      resource_name, result, details)
    select key, coalesce(at, now()), ${partnerId}, org, 'user', actor, email, coalesce(action, 'site.update'), type, id, name,
      coalesce(result, 'success'), coalesce(details, '{}')
    from jsonb_to_recordset(${owner.json(made as never)}) as x (key uuid, at timestamptz, org uuid, actor uuid, email text, action text,
      type text, id uuid, name text, result text, details jsonb)`
  return made.map(({ key }) => key)
}

const ids = (body: { data: { id: string }[] }) => body.data.map(({ id }) => id)
const ask = async (query: Record<string, string>, as: Person = boss, path = 'GET /audit/logs' as const) =>
  (await request(path, as, { query })).body

beforeAll(async () => {
  ;({ partnerId, orgId } = await make.org())
  boss = await people.partnerAdmin(partnerId)
})

describe('filters', () => {
  const [ann, host] = [uuid(), uuid()]
  let rows: string[]
  beforeAll(async () => {
    rows = await write([
      {
        at: '2025-03-01T10:00:00Z',
        actor: ann,
        email: 'Ann@Example.com',
        action: 'user.login',
        result: 'failure',
      },
      {
        at: '2025-03-01T11:00:00Z',
        actor: ann,
        email: 'ann@example.com',
        action: 'device.decommission',
        type: 'device',
        id: host,
        name: 'PC-Lobby',
        org: orgId,
      },
      {
        at: '2025-03-01T12:00:00Z',
        action: 'role.update',
        type: 'role',
        name: "O'Neil \\ Müller",
        details: { from: { note: 'Quarterly turnover' }, n: 7 },
      },
    ])
  })
  const [login, device, role] = [0, 1, 2]

  test.each([
    ['who, by id', { actor: ann }, [device, login]],
    ['who, by e-mail in any case', { actor: 'ANN@example.com' }, [device, login]],
    ['an action', { action: 'role.update' }, [role]],
    ['actions', { action: 'role.update,user.login' }, [role, login]],
    ['all but some actions', { excludeActions: 'role.update', to: '2025-04-01T00:00:00Z' }, [device, login]],
    ['a thing, by id', { resource: host }, [device]],
    ['a thing, by type', { resource: 'role' }, [role]],
    ['a thing, by name in any case', { resource: 'pc-lobby' }, [device]],
    ['a name with signs of the query language', { resource: "o'neil \\ MÜLLER".replace('MÜ', 'Mü') }, [role]],
    ['a result', { result: 'failure' }, [login]],
    ['an organization', () => ({ orgId }), [device]],
    ['from a moment on', { from: '2025-03-01T11:00:00Z', to: '2025-03-01T12:00:00Z' }, [device]],
    ['words of the name', { q: 'lobby' }, [device]],
    ['the beginning of a word', { q: 'LOB*' }, [device]],
    ['no beginning without a star', { q: 'lob' }, []],
    ['words in any order and case', { q: 'LOBBY Decommission' }, [device]],
    ['words of an e-mail', { q: 'ann@example.com', action: 'user.login' }, [login]],
    ['texts of the details', { q: 'quarterly turnover' }, [role]],
    ['signs of the query language', { q: "neil' | !:* & \\" }, [role]],
    ['both', { actor: ann, action: 'role.update' }, []],
    ['nothing', { q: 'nowhere' }, []],
  ])('%s', async (_, query, found) => {
    const given = { to: '2025-12-31T00:00:00Z', ...(typeof query === 'function' ? query() : query) }
    expect(ids(await ask(given))).toEqual(found.map((at) => rows[at]))
  })

  test('refuses what it does not understand', async () => {
    const refused = {
      action: 'User Login',
      from: 'yesterday',
      result: 'maybe',
      q: '--',
      orgId: 'x',
      limit: '501',
    }
    const reply = await request('GET /audit/logs', boss, { query: refused })
    expect(reply.status).toBe(400)
    expect(reply.body.error.details.map(({ field }: { field: string }) => field).toSorted()).toEqual(
      Object.keys(refused).toSorted(),
    )
    expect((await request('GET /audit/search', boss)).status).toBe(400)
  })

  test('one row says everything of itself', async () => {
    expect((await request(`GET /audit/logs/${rows[login]}`, boss)).body).toMatchObject({
      timestamp: '2025-03-01T10:00:00.000Z',
      actor: { type: 'user', id: ann, email: 'Ann@Example.com', onBehalfOf: null },
      action: 'user.login',
      category: 'authentication',
      severity: 'warning',
      result: 'failure',
      orgId: null,
      details: {},
    })
    expect((await request(`GET /audit/logs/${uuid()}`, boss)).status).toBe(404)
  })
})

describe('what is far back', () => {
  let quiet: string
  let old: string[]
  const gone = uuid()
  beforeAll(async () => {
    quiet = (await make.org(partnerId)).orgId
    const rows = Array.from({ length: 12_000 }, (_, i) => ({
      at: new Date(Date.UTC(2026, 0, 1) + i * 1_000).toISOString(),
      org: orgId,
      actor: i % 3 ? null : gone,
      action: i % 2 ? 'site.update' : 'device.enroll',
      name: `thing ${i}`,
    }))
    await write(rows)
    old = await write([
      { at: '2024-01-01T00:00:00Z', action: 'partner.update', name: 'Heirloom', org: quiet, actor: gone },
      {
        at: '2024-01-02T00:00:00Z',
        action: 'partner.update',
        name: 'Heirloom',
        org: quiet,
        result: 'denied',
      },
    ])
    await owner`analyze svc.audit_log, svc.audit_words`
  }, 60_000)

  test.each([
    ['an action', { action: 'partner.update' }],
    ['an organization', () => ({ orgId: quiet })],
    ['a word', { q: 'heirloom' }],
    ['a name', { resource: 'heirloom' }],
  ] as const)('is found at once by %s', async (_, query) => {
    const body = await ask(typeof query === 'function' ? query() : query)
    expect(ids(body)).toEqual(old.toReversed())
    expect(body.pagination).toEqual({ hasMore: false, cursor: null })
  })

  test.each([
    ['an actor and an action', { actor: gone, action: 'partner.update' }, [0]],
    ['an action and a result', { action: 'partner.update', result: 'denied' }, [1]],
    ['a result that nothing else has', { result: 'denied', to: '2026-06-01T00:00:00Z' }, [1]],
    ['what nothing is', { action: 'device.enroll', result: 'denied' }, []],
  ] as const)('is found at once by %s', async (_, query, found) => {
    const body = await ask(query)
    expect(ids(body)).toEqual(found.map((at) => old[at]))
    expect(body.pagination.cursor).toBeNull()
  })

  test('is told page by page where very much matches and none of it is near, with every row once', async () => {
    // Words alone do not tell one half of so many from the other.
    const query = { excludeActions: 'device.enroll', q: 'thing', to: '2026-06-01T00:00:00Z', limit: '500' }
    const seen: string[] = []
    let pages = 0
    for (let cursor: string | null = ''; cursor !== null; pages++) {
      const body = await ask({ ...query, ...(cursor && { cursor }) })
      seen.push(...ids(body))
      cursor = body.pagination.cursor
    }
    expect([seen.length, new Set(seen).size]).toEqual([6_000, 6_000])
    expect(pages).toBeGreaterThanOrEqual(12)
  })

  test('somebody of two organizations reads theirs in order, and nobody else’s', async () => {
    const two = await people.partnerMember(partnerId, [quiet, orgId])
    const seen: { id: string; timestamp: string; orgId: string }[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const body = await ask({ limit: '500', to: '2026-06-01T00:00:00Z', ...(cursor && { cursor }) }, two)
      seen.push(...body.data)
      cursor = body.pagination.cursor
    }
    const times = seen.map(({ timestamp }) => timestamp)
    expect(times).toEqual(times.toSorted().toReversed())
    expect(new Set(seen.map(({ id }) => id)).size).toBe(12_003)
    expect(new Set(seen.map((row) => row.orgId))).toEqual(new Set([orgId, quiet]))
  })

  test('what others have in between costs a member of a quiet organization nothing', async () => {
    const member = await people.orgMember({ partnerId, orgId: quiet })
    expect(ids(await ask({}, member))).toEqual(old.toReversed())
    expect(ids(await ask({ q: 'thing' }, member))).toEqual([])
    expect(ids(await ask({ orgId }, member))).toEqual([])
  })
})

describe('figures', () => {
  test('are of thirty days unless said otherwise, and of 366 at most', async () => {
    const { partnerId: other } = await make.org()
    const admin = await people.partnerAdmin(other)
    const now = clock.now()
    const body = (await request('GET /audit/stats', admin)).body
    expect(new Date(body.range.to).getTime() - new Date(body.range.from).getTime()).toBe(30 * 86_400_000)
    const from = (days: number) => new Date(now.getTime() - days * 86_400_000).toISOString()
    const asked = (days: number) =>
      request('GET /audit/stats', admin, { query: { from: from(days), to: now.toISOString() } })
    expect([(await asked(366)).status, (await asked(367)).status, (await asked(-1)).status]).toEqual([
      200, 400, 400,
    ])
  })

  test.each(['0000-12-31T23:59:59Z', '0001-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59'])(
    '%s is refused: no year that the database can say',
    async (moment) => {
      for (const [route, query] of [
        ['GET /audit/logs', { from: moment }],
        ['GET /audit/stats', { from: moment, to: moment }],
        ['GET /audit/export', { to: moment }],
      ] as const) {
        const { status, body } = await request(route, boss, { query })
        expect([status, body.error?.details[0]?.message]).toEqual([
          400,
          'must be of the years 1 to 9999 in UTC',
        ])
      }
    },
  )

  test('count what there is', async () => {
    const query = { from: '2025-02-01T00:00:00Z', to: '2025-04-01T00:00:00Z' }
    const stats = (await request('GET /audit/stats', boss, { query })).body
    expect(stats).toMatchObject({
      totalEvents: 3,
      byResult: [{ count: 2 }, { count: 1 }, { count: 0 }],
      byDay: [{ day: '2025-03-01', count: 3 }],
      byUser: [{ userEmail: 'ann@example.com', actionCount: 2, lastActiveAt: '2025-03-01T11:00:00.000Z' }],
    })
    const users = (await request('GET /audit/reports/user-activity', boss, { query })).body
    expect(users).toMatchObject({ totalUsers: 1, totalEvents: 2, topUsers: [{ actionCount: 2 }] })
    expect(users.recentActivity).toHaveLength(3)
    const security = (await request('GET /audit/reports/security-events', boss, { query })).body
    expect(security).toMatchObject({
      totalEvents: 2,
      loginAttempts: 1,
      failedLogins: 1,
      permissionChanges: 1,
      recentEvents: [{ action: 'role.update' }, { action: 'user.login' }],
    })
    const compliance = (await request('GET /audit/reports/compliance', boss, { query })).body
    expect(compliance).toMatchObject({ totalEvents: 2, dataAccess: 0, dataChanges: 2, exports: 0 })
  })
})
