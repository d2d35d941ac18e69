import { expect, test } from 'vitest'
import { accountsOf } from '../../test/harness/accounts.ts'
import { testApp } from '../../test/harness/app.ts'

/** Of its four connections. */
const crowd = 12
const t = await testApp({ turnWithinMs: 300 })
const { account, logIn } = accountsOf(t)

test('where all connections wait for a lock, the rest is told to come again, people log in, and readiness says why', async () => {
  const org = await t.make.org()
  const admin = await t.people.partnerAdmin(org.partnerId)
  const who = await account()
  const path = `/orgs/organizations/${org.orgId}` as const
  expect((await t.app.inject('/health/ready')).json()).toMatchObject({ status: 'ready', failing: [] })
  const answers = await t.owner.begin(async (holder) => {
    await holder`select from organizations where id = ${org.orgId} for no key update`
    const asked = Array.from({ length: crowd }, () =>
      t.request(`PATCH ${path}`, admin, { body: { name: 'Crowded' } }),
    )
    const locked = () => t.owner`
      select from pg_stat_activity
      where application_name = 'svc-api' and wait_event_type = 'Lock' and datname = current_database()`
    await expect.poll(async () => (await locked()).length, { timeout: 20_000 }).toBeGreaterThan(0)
    expect((await logIn(who)).status).toBe(200)
    // By the lock's own time limit at the latest: nobody lets go of it.
    return Promise.all(asked)
  })
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
  for (const { headers, body } of answers) {
    expect(body).toMatchObject({ error: { code: 'UNAVAILABLE' }, retryAfter: expect.any(Number) })
    expect(headers['retry-after']).toBe(String(body.retryAfter))
  }
  // Those that had a connection, and those that waited for one.
  expect(new Set(answers.map(({ body }) => body.error.message))).toEqual(
    new Set([
      'another request is changing the same thing',
      'the database is asked for more than it can do at once',
    ]),
  )
  const ready = await t.app.inject('/health/ready')
  expect(ready.statusCode).toBe(200)
  expect(ready.json()).toMatchObject({ status: 'degraded', failing: ['database_pool'] })
  expect((await t.request(`PATCH ${path}`, admin, { body: { name: 'Alone' } })).status).toBe(200)
})
