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
