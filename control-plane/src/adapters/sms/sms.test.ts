import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { httpSms } from './http.ts'
import { SmsFailed } from './sms.ts'
import { twilioSms } from './twilio.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** A provider on loopback that keeps what it is asked. */
async function provider(answer: RequestListener = (_request, response) => response.writeHead(201).end('{}')) {
  const asked: { request: IncomingMessage; body: string }[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      asked.push({ request, body })
      answer(request, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const twilio = (url: string, from = '+15550001111') => twilioSms({ url, account: 'AC1', token: 't:&=', from })
const http = (url: string) => httpSms({ url: `${url}/send`, token: 'tok-of-ours', from: 'svc' })

test('the generic driver posts JSON with a bearer token', async () => {
  const { asked, url } = await provider()
  await http(url).send('+4915112345678', 'code "123456" & more ü')
  expect(asked).toHaveLength(1)
  const { request, body } = asked[0] ?? {}
  expect([request?.method, request?.url]).toEqual(['POST', '/send'])
  expect(request?.headers).toMatchObject({
    authorization: 'Bearer tok-of-ours',
    'content-type': 'application/json',
  })
  expect(JSON.parse(body ?? '')).toEqual({
    to: '+4915112345678',
    from: 'svc',
    text: 'code "123456" & more ü',
  })
})

test('the Twilio driver posts a form to the account’s messages, with basic authentication', async () => {
  const { asked, url } = await provider()
  await twilio(url).send('+4915112345678', 'code 1+1 & ü')
  await twilio(`${url}/`, 'MG42').send('+4915112345678', 'x')
  const [first, second] = asked
  expect([first?.request.method, first?.request.url]).toEqual([
    'POST',
    '/2010-04-01/Accounts/AC1/Messages.json',
  ])
  expect(first?.request.headers).toMatchObject({
    authorization: `Basic ${Buffer.from('AC1:t:&=').toString('base64')}`,
    'content-type': 'application/x-www-form-urlencoded',
  })
  expect(Object.fromEntries(new URLSearchParams(first?.body))).toEqual({
    To: '+4915112345678',
    From: '+15550001111',
    Body: 'code 1+1 & ü',
  })
  expect(second?.request.url).toBe('/2010-04-01/Accounts/AC1/Messages.json')
  expect(Object.fromEntries(new URLSearchParams(second?.body))).toMatchObject({ MessagingServiceSid: 'MG42' })
})

test.each([
  ['generic', http],
  ['Twilio', twilio],
] as const)('%s: what the provider does not take is a failure that says what it said', async (_, driver) => {
  const refused = await provider((_request, response) =>
    response.writeHead(400).end('{"code":21211,\n"x":1}'),
  )
  await expect(driver(refused.url).send('+1', 'x')).rejects.toThrow(/answers 400: \{"code":21211, "x":1\}/)
  const gone = await provider((request) => request.socket.destroy())
  await expect(driver(gone.url).send('+1', 'x')).rejects.toThrow(SmsFailed)
  const elsewhere = await provider((_request, response) =>
    response.writeHead(307, { location: `${refused.url}/stolen` }).end(),
  )
  await expect(driver(elsewhere.url).send('+1', 'x')).rejects.toThrow(/answers 307/)
  expect(refused.asked).toHaveLength(1)
})

test.each([
  ['generic', http],
  ['Twilio', twilio],
] as const)('%s: what a provider quotes of what it was asked is not said again', async (_, driver) => {
  const text = '048213 is your code. Never give it to anybody.'
  const quoting = await provider((request, response) => {
    const { body } = quoting.asked.at(-1) ?? {}
    response.writeHead(400).end(JSON.stringify({ why: 'blocked', headers: request.headers, body }))
  })
  const failure = await driver(quoting.url)
    .send('+4915112345678', text)
    .catch((error: unknown) => error)
  expect(String(failure)).toContain('blocked')
  expect(quoting.asked[0]?.request.headers.authorization).toMatch(/tok|QUMxOnQ6Jj0/)
  expect(String(failure)).not.toMatch(/048213|Never|Bearer tok|QUMxOnQ6Jj0/)
  expect(failure).not.toHaveProperty('cause')
})
