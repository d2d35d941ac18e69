import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { accountsOf } from '../../../../../test/harness/accounts.ts'
import { testApp } from '../../../../../test/harness/app.ts'
import { passwordLimits } from '../../../../adapters/passwords.ts'

const t = await testApp({ env: { TRUSTED_PROXIES: '127.0.0.1' } })
const { account } = accountsOf(t)
const { passwords } = t.core.ports
const base = await t.app.listen({ host: '127.0.0.1', port: 0 })
const room = passwordLimits.atOnce + passwordLimits.maxWaiting

let addresses = 0
const nextAddress = () => `10.1.${addresses >> 8}.${addresses++ & 255}`

interface Answer {
  status: number
  retryAfter: string | null
  body: { accessToken?: string; retryAfter?: number; error?: { code: string } }
}

async function logIn(who: { email: string; password: string }): Promise<Answer> {
  const answer = await fetch(`${base}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': nextAddress() },
    body: JSON.stringify({ email: who.email, password: who.password }),
  })
  const body = (await answer.json()) as Answer['body']
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body }
}

const toldToComeAgain = {
  status: 503,
  retryAfter: expect.stringMatching(/^[2-5]$/),
  body: { retryAfter: expect.any(Number), error: expect.objectContaining({ code: 'UNAVAILABLE' }) },
}

const health = async () => (await fetch(`${base}/health`)).status
const me = async (token: string) =>
  (await fetch(`${base}/api/v1/auth/me`, { headers: { authorization: `Bearer ${token}` } })).status

const crowdMs = 120_000

test(
  'of 500 logins at once as many are under way as may be, the rest is told to come again, and none that was let in is lost',
  async () => {
    const accounts = await Promise.all(Array.from({ length: 25 }, () => account()))
    await logIn({ email: 'first@example.com', password: 'x' })
    const most = { running: 0, waiting: 0 }
    const healthy: number[] = []
    let over = false
    const look = setInterval(() => {
      const { running, waiting } = passwords.load()
      most.running = Math.max(most.running, running)
      most.waiting = Math.max(most.waiting, waiting)
    }, 1)
    const askForHealth = async () => {
      while (!over) {
        healthy.push(await health())
        await sleep(1)
      }
    }
    const asking = askForHealth()
    const asked = Array.from({ length: 500 }, async (_, n) => {
      const who = accounts[n % 25]
      const right = n % 2 === 0 && who !== undefined
      return { right, ...(await logIn(right ? who : { email: `nobody-${n}@example.com`, password: 'x' })) }
    })
    const answers = await Promise.all(asked)
    over = true
    await asking
    clearInterval(look)

    expect(new Set(healthy)).toEqual(new Set([200]))
    expect(most).toEqual({ running: passwordLimits.atOnce, waiting: passwordLimits.maxWaiting })
    for (const { right, ...answer } of answers) {
      if (answer.status === 503) expect(answer).toEqual(toldToComeAgain)
      else expect(answer.status).toBe(right ? 200 : 401)
    }
    const came = (status: number) => answers.filter((answer) => answer.status === status)
    expect(came(503).length).toBeGreaterThan(0)
    expect(came(200).length + came(401).length).toBeGreaterThanOrEqual(room)
    const tokens = came(200).map(({ body }) => body.accessToken ?? '')
    expect(new Set(tokens).size).toBe(came(200).length)
    expect(new Set(await Promise.all(tokens.map(me)))).toEqual(new Set([200]))
    const rows = await t.db.rows<{ result: string; count: number }>`
    select result, count(*)::int as count from audit_log
    where action = 'user.login' and resource_name is distinct from 'first@example.com' group by result order by result`
    expect(rows).toEqual([
      { result: 'failure', count: came(401).length },
      { result: 'success', count: came(200).length },
    ])
    expect(passwords.load()).toMatchObject({ running: 0, waiting: 0 })
  },
  crowdMs,
)

test('whoever sends a login slowly keeps nobody out', async () => {
  const who = await account()
  const { hostname, port } = new URL(base)
  const slow = await Promise.all(
    Array.from({ length: 150 }, async () => {
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect')
      socket.write(
        `POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${nextAddress()}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{`,
      )
      return socket
    }),
  )
  await sleep(500) // they have all been looked at
  expect((await logIn(who)).status).toBe(200)
  for (const socket of slow) socket.destroy()
})

test('with no room left for another password, all else is answered: health, the database, files and names; then there is room again', async () => {
  const who = await account()
  const { accessToken = '' } = (await logIn(who)).body
  let over = false
  // Whoever is done comes again in the same turn of the event loop: at no moment that a request could see is there room.
  const keepComing = async () => {
    while (!over) await passwords.hash('x')
  }
  const crowd = Promise.all(Array.from({ length: room }, keepComing))
  const full = { running: passwordLimits.atOnce, waiting: passwordLimits.maxWaiting }
  expect(passwords.load()).toMatchObject(full)
  for (let n = 0; n < 20; n++) expect(await health()).toBe(200)
  expect(await me(accessToken)).toBe(200)
  expect((await readFile(import.meta.filename)).length).toBeGreaterThan(0)
  expect((await lookup('localhost')).address).toMatch(/^(127\.0\.0\.1|::1)$/)
  const before = passwords.load().refused
  expect(await logIn(who)).toEqual(toldToComeAgain)
  expect(await logIn({ email: 'nobody@example.com', password: 'x' })).toEqual(toldToComeAgain)
  expect(passwords.load()).toEqual({ ...full, refused: before + 2 })
  over = true
  await crowd
  expect((await logIn(who)).status).toBe(200)
})
