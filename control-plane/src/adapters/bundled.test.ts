import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, BlockList } from 'node:net'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compile } from '../../../tools/bundle.mjs'

/** What is loaded when it is needed, as a bundle loads it: there a library may hide its names. */
const folder = mkdtempSync(join(tmpdir(), 'svc-bundled-'))
const load = (name: string) => import(pathToFileURL(join(folder, `${name}.mjs`)).href)
const adapters = 'control-plane/src/adapters'

beforeAll(async () => {
  const entries = {
    mail: `${adapters}/mail/smtp.ts`,
    sms: `${adapters}/sms/http.ts`,
    strength: `${adapters}/password-strength.ts`,
    egress: 'control-plane/src/engines/egress/egress.ts',
  }
  await compile(entries, folder)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the estimator of passwords estimates', async () => {
  const { strengthOf } = await load('strength')
  expect(await strengthOf('password', [])).toMatchObject({ score: 0 })
})

test('mail and text messages go as far as the address where nobody listens', async () => {
  const mailer = (await load('mail')).smtpMail({ url: 'smtp://127.0.0.1:1', from: 'a@b.example' })
  const to = { name: '', address: 'c@d.example' }
  const mail = mailer.send({ id: 'x', to, subject: 's', text: 't', html: 'h', link: null })
  await expect(mail).rejects.toThrow('ECONNREFUSED')
  mailer.close()
  const sms = (await load('sms')).httpSms({ url: 'http://127.0.0.1:1/', token: 't' })
  await expect(sms.send('+1', 'x')).rejects.toThrow('ECONNREFUSED')
})

test('a call to the outside gets as far', async () => {
  const allow = new BlockList()
  allow.addAddress('127.0.0.1')
  const { makeEgress } = await load('egress')
  const egress = makeEgress({ allow, http: true, ports: [[1, 1]], without: new Set(['alike']) })
  await expect(egress.fetch('http://127.0.0.1:1/')).rejects.toThrow('ECONNREFUSED')
  const server = createServer((_request, response) => response.end('here')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const open = makeEgress({ allow, http: true, ports: [[port, port]] })
  expect(await (await open.fetch(`http://127.0.0.1:${port}/`)).text()).toBe('here')
  await Promise.all([egress.close(), open.close()])
  server.close()
})
