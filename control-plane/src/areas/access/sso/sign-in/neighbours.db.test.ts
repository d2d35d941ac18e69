import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import { startIdp } from '../../../../../test/harness/idp/idp.ts'
import { egressEnv, redirectUri, ssoStage } from '../../../../../test/harness/idp/stage.ts'

const t = await testApp({ env: egressEnv })
const idp = await startIdp(redirectUri)
const { browser, open } = ssoStage(t)

/** Answers nobody until it is told to. */
const held: ServerResponse[] = []
let isReleased = false
const slow = createServer((_, response) => {
  if (isReleased) response.end('{}')
  else held.push(response)
})
slow.listen(0, '127.0.0.1')
await once(slow, 'listening')
afterAll(() => {
  slow.closeAllConnections()
  slow.close()
})

test('a tenant with many slow providers waits for itself, and nobody else for it', async () => {
  const [org, neighbour] = [await t.make.org(), await open(idp)]
  const admin = await t.people.partnerAdmin(org.partnerId)
  const { port } = slow.address() as AddressInfo
  // More than there are turns for all tenants together (engines/egress), each for an issuer of its own.
  const many = Array.from({ length: 70 }, (_, n) => {
    const issuer = `http://127.0.0.1:${port}/${n}`
    const body = { orgId: org.orgId, name: `p${n}`, issuer, clientId: 'x', clientSecret: 'x' }
    return t.request('POST /sso/providers', admin, { body })
  })
  await expect.poll(() => held.length).toBeGreaterThan(0)
  expect(await browser('kim').logIn(neighbour.orgId)).toHaveProperty('code')
  expect(held).toHaveLength(5)
  isReleased = true
  for (const response of held) response.end('{}')
  expect(new Set((await Promise.all(many)).map(({ status }) => status))).toEqual(new Set([201]))
})
