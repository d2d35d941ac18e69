import { expect, test } from 'vitest'
import { claimsOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'
import { type Browser, outcomeOf } from '../../../../../test/harness/idp/browser.ts'
import { startIdp } from '../../../../../test/harness/idp/idp.ts'
import { egressEnv, redirectUri, ssoStage } from '../../../../../test/harness/idp/stage.ts'

const people = 200

const t = await testApp({ env: egressEnv })
const idp = await startIdp(redirectUri)
const { browser, open } = ssoStage(t)

/** Fisher and Yates. */
function shuffled<T>(list: readonly T[]): T[] {
  const all = [...list]
  for (let i = all.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    ;[all[i], all[j]] = [all[j] as T, all[i] as T]
  }
  return all
}

interface Waiting {
  mine: Browser
  callback: string
}

/** Everybody is at the provider, and about to come back. */
const leave = (crowd: readonly Browser[], orgId: string): Promise<Waiting[]> =>
  Promise.all(crowd.map(async (mine) => ({ mine, callback: await mine.toCallback(orgId) })))

/** Everybody tries somebody else's callback with their own cookie. */
const swap = (waiting: readonly Waiting[]) =>
  Promise.all(
    waiting.map(async ({ mine }, n) => {
      const { callback } = waiting[(n + 1) % waiting.length] ?? { callback: '' }
      return outcomeOf(await mine.follow(callback))
    }),
  )

test(`of ${people} logins at once, with callbacks in any order and cookies swapped, each session is its own user’s and each swap fails`, async () => {
  const org = await open(idp)
  const crowd = Array.from({ length: people }, (_, n) => browser(`p${n}`))
  const waiting = await leave(crowd, org.orgId)
  // Everybody first tries somebody else's callback: none comes in, and none is used up by it.
  const swapped = await swap(waiting)
  expect(new Set(swapped.map((out) => JSON.stringify(out)))).toEqual(
    new Set(['{"error":"invalid_callback"}']),
  )

  const came = await Promise.all(
    shuffled(waiting).map(async ({ mine, callback }) => ({
      mine,
      out: outcomeOf(await mine.follow(callback)),
    })),
  )
  // Each of them, and why not where it is not.
  expect(came.flatMap(({ out }) => ('error' in out ? [out.error] : []))).toEqual([])
  const codes = came.map(({ mine, out }) => ({ mine, code: 'code' in out ? out.code : JSON.stringify(out) }))
  // Codes are as little worth in another browser.
  const stolen = await Promise.all(
    codes.map(({ code }, n) =>
      (codes[(n + 1) % people]?.mine ?? browser('')).ask('POST /sso/exchange', { code }),
    ),
  )
  expect(new Set(stolen.map(({ status }) => status))).toEqual(new Set([400]))

  const sessions = await Promise.all(
    shuffled(codes).map(async ({ mine, code }) => ({
      mine,
      answer: await mine.ask('POST /sso/exchange', { code }),
    })),
  )
  expect(sessions.filter(({ answer }) => answer.status !== 200).map(({ answer }) => answer.body)).toEqual([])
  const users = new Set<string>()
  for (const { mine, answer } of sessions) {
    expect(answer.body.user?.email).toBe(`${mine.who}@staff.example`)
    expect(claimsOf(answer.body.accessToken)).toMatchObject({
      sub: answer.body.user.id,
      mem: { id: org.orgId },
    })
    users.add(answer.body.user.id)
  }
  expect(users.size).toBe(people)
  const identities = await t.db.rows<{ subject: string; email: string }>`
      select i.subject, u.email from sso_identities i join users u on u.id = i.user_id where i.provider_id = ${org.providerId}`
  expect(identities).toHaveLength(people)
  expect(identities.filter(({ subject, email }) => email !== `${subject}@staff.example`)).toEqual([])
  // Keys were asked for once, not once for each.
  expect(idp.asked.get('/jwks')).toBe(1)
}, 180_000)

test('where the state is not tied to the browser, a swap is seen to succeed', async () => {
  const [row] = await t.owner<
    { text: string }[]
  >`select pg_get_functiondef('svc.take_sso_login'::regproc) as text`
  const guard = ' and l.browser_hash = browser'
  expect(row?.text.split(guard)).toHaveLength(2)
  await t.owner.unsafe(row?.text.replace(guard, '') ?? '')
  const org = await open(idp)
  const swapped = await swap(await leave([browser('a'), browser('b')], org.orgId))
  expect(swapped).toEqual([{ code: expect.any(String) }, { code: expect.any(String) }])
})
