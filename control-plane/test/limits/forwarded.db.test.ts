import { afterAll, describe, expect, test } from 'vitest'
import { limits } from '../../src/kernel/limits.ts'
import { testApp } from '../harness/app.ts'
import { statuses } from './processes.ts'

const { points } = limits['forgot-password']
const many = 100
let emails = 0

/** A control plane that listens, and how often it lets through who says of themselves where they are. */
async function listening(trusted: string) {
  const t = await testApp({ env: { TRUSTED_PROXIES: trusted } })
  const base = await t.app.listen({ host: '127.0.0.1', port: 0 })
  const agent = { headers: { 'content-type': 'application/json' }, method: 'POST' }
  const ask = (from: string) =>
    fetch(`${base}/api/v1/auth/forgot-password`, {
      ...agent,
      headers: { ...agent.headers, 'x-forwarded-for': from },
      body: JSON.stringify({ email: `u${++emails}@example.com` }),
    })
  afterAll(() => t.app.server.closeAllConnections())
  return (from: (n: number) => string) => statuses([from], many, (said, n) => ask(said(n)))
}

const asOne = { 200: points, 429: many - points }
const apart = { 200: many }

describe('where no proxy is trusted', async () => {
  const count = await listening('')

  test('a hundred addresses that one peer makes up count as its own', async () => {
    expect(await count((n) => `198.51.100.${n}`)).toEqual(asOne)
    expect(await count((n) => `2001:db8:0:${n.toString(16)}::1`)).toEqual({ 429: many })
  })
})

describe('behind a trusted proxy', async () => {
  const count = await listening('127.0.0.1')

  test('a hundred addresses count apart, and each has its own limit', async () => {
    expect(await count((n) => `198.51.100.${n}`)).toEqual(apart)
    expect(await count(() => '198.51.100.7')).toEqual({ 200: points - 1, 429: many - points + 1 })
  })

  test('what a client says of itself counts for nothing beside what the proxy saw', async () => {
    expect(await count((n) => `203.0.113.${n}, 192.0.2.7`)).toEqual(asOne)
  })

  test('whoever has a /64 of IPv6 has one limit for all of it; the next one has another', async () => {
    expect(await count((n) => `2001:db8:0:1::${n.toString(16)}`)).toEqual(asOne)
    expect(await count((n) => `2001:db8:1:${n.toString(16)}::1`)).toEqual(apart)
  })
})

describe('where everybody is trusted', async () => {
  const count = await listening('0.0.0.0/0, ::/0')

  test('whoever makes up addresses is found by that: they count apart', async () => {
    expect(await count((n) => `198.51.100.${n}`)).toEqual(apart)
  })
})
