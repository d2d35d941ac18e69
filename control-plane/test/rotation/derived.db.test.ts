import { expect, test } from 'vitest'
import { masterKeyCommands } from '../../src/master-key-command.ts'
import { queueMail } from '../../src/engines/mail/queue.ts'
import { reseal } from '../../src/engines/secrets/reseal.ts'
import { accountsOf } from '../harness/accounts.ts'
import { testApp } from '../harness/app.ts'
import { mailsTo } from '../harness/mails.ts'

const t = await testApp()
const { account, logInFully, person } = accountsOf(t)

async function rotate() {
  await masterKeyCommands.add(t.url, t.config.keysDir)
  await t.core.keys.look()
  await masterKeyCommands.use(t.url)
  await t.core.keys.look()
}

/** Until nothing is left and a day is over. */
async function retire() {
  await reseal(t.db, t.core.ports.secrets)
  await t.owner`update svc.sealing_keys set state_since = now() - interval '1 day' where state = 'retiring'`
  await masterKeyCommands.retire(t.url)
  await t.core.keys.look()
}

test('a cursor, an answer that repeats and a mail that waits outlive a rotation; a cursor ends with the key', async () => {
  const who = await account({ totp: true })
  const me = person(who, (await logInFully(who)).accessToken)
  for (let n = 0; n < 3; n++) await t.request('POST /orgs/organizations', me, { body: { name: `O${n}` } })
  const first = await t.request('GET /orgs/organizations', me, { query: { limit: '2' } })
  const cursor = String(first.body.pagination.cursor)
  const page = () => t.request('GET /orgs/organizations', me, { query: { limit: '2', cursor } })
  const key = () =>
    t.request('POST /api-keys', me, {
      body: { name: 'K', scopes: ['devices:read'] },
      headers: { 'idempotency-key': 'rotated-meanwhile' },
    })
  const made = await key()
  expect(made.status).toBe(201)
  const to = { name: 'K', email: who.email }
  const data = { link: 'http://svc.test/#token=t', until: new Date(Date.now() + 60_000) }
  await t.db.tx((tx) => queueMail({ db: tx, ports: t.core.ports }, { to, kind: 'reset-password', data }))
  const queued = await mailsTo(t, who.email)
  expect(queued).toHaveLength(1)
  await rotate()

  expect((await page()).status).toBe(200)
  expect((await key()).body).toEqual(made.body)
  await retire()
  expect(await mailsTo(t, who.email)).toEqual(queued)
  expect((await page()).body.error).toMatchObject({
    code: 'VALIDATION_ERROR',
    details: [{ field: 'cursor' }],
  })
})
