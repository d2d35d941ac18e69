import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { type ParsedMail, simpleParser } from 'mailparser'
import { Registry } from 'prom-client'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { eventually, openPipeline } from '../../../test/harness/pipeline.ts'
import { smtpMail } from '../../adapters/mail/smtp.ts'
import { declareTasks } from '../schedule/queue/enqueue.ts'
import { type Queue, startQueue } from '../schedule/queue/queue.ts'
import { mailTask, type QueueMail, queueMail } from './queue.ts'

const on = await openPipeline({ jobPollMs: 100 })
afterAll(() => on.close())
const { sql, db, logged } = on

const ends: (() => Promise<unknown> | void)[] = []
beforeEach(async () => {
  await sql`truncate graphile_worker._private_jobs`
  await declareTasks(db, [mailTask])
  logged.length = 0
})
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** A mail server on loopback that keeps what it is given. */
async function mailServer(options: SMTPServerOptions = {}, port = 0) {
  const mails: ParsedMail[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    closeTimeout: 100, // of connections that a pool still holds
    onData: (stream, _session, done) => {
      simpleParser(stream, (error, mail) => {
        if (!error) mails.push(mail)
        done(error)
      })
    },
    ...options,
  })
  const listening = server.listen(port, '127.0.0.1')
  await once(listening, 'listening')
  ends.push(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { mails, port: (listening.address() as AddressInfo).port }
}

const sender = (port: number, who = '') => {
  const mailer = smtpMail({ url: `smtp://${who}127.0.0.1:${port}`, from: 'Service <noreply@svc.example>' })
  ends.push(() => mailer.close())
  return mailer
}

async function work(mailer: ReturnType<typeof sender>) {
  const metrics = new Registry()
  const ports = { ...on.deps.ports, mailer }
  const { pipeline } = on.deps.ports.config as { pipeline: Parameters<typeof startQueue>[0]['pipeline'] }
  const queue: Queue = startQueue({
    db,
    ports,
    tasks: [mailTask],
    log: on.deps.log,
    metrics,
    pipeline,
    drainMs: 1_000,
  })
  ends.push(() => queue.close())
  await queue.started
  return metrics
}

const ports = { ...on.deps.ports, config: { mail: { driver: 'shown' } as const } }
const hour = () => new Date(Date.now() + 3_600_000)
const link = 'https://svc.example/reset-password#token=svcl_canary-of-the-link'
const reset = (until = hour()): QueueMail<'reset-password'> => ({
  to: { name: 'Ann "<b>" \r\nBcc: all@example.com', email: 'ann@example.com' },
  kind: 'reset-password',
  data: { link, until },
})
const queued = () => sql<
  { attempts: number; maxAttempts: number; payload: object; lastError: string | null }[]
>`
  select attempts, max_attempts, payload, last_error from graphile_worker._private_jobs`
const hurry = () => sql`update graphile_worker._private_jobs set run_at = now() where locked_at is null`
const counted = async (metrics: Registry, outcome: string) =>
  (await metrics.getSingleMetric('svc_jobs_total')?.get())?.values.find(
    ({ labels }) => labels['task'] === 'mail.send' && labels['outcome'] === outcome,
  )?.value

test('a mail that was queued arrives, saying the same in text and HTML', async () => {
  const { mails, port } = await mailServer()
  await work(sender(port))
  const until = new Date('2099-01-02T03:04:00Z')
  expect(await db.tx((tx) => queueMail({ db: tx, ports }, reset(until)))).toBe(true)
  await eventually(() => mails.length === 1, 'the mail to arrive')
  const [mail] = mails
  expect(mail?.subject).toBe('Reset your password')
  expect(mail?.from?.value).toEqual([{ name: 'Service', address: 'noreply@svc.example' }])
  expect(mail?.messageId).toMatch(/^<[0-9a-f-]{36}@svc\.example>$/)
  for (const part of [mail?.text, String(mail?.html)]) {
    expect(part).toContain(link)
    expect(part).toContain('2099-01-02 03:04 UTC')
    expect(part).toContain('If you did not ask for this')
  }
})

test('a name cannot put a header, a recipient or markup into a mail', async () => {
  const { mails, port } = await mailServer()
  await work(sender(port))
  const invite = {
    to: reset().to,
    kind: 'invite',
    data: { link, until: hour(), tenant: '<img src=x>\r\nBcc: all@example.com', invitedBy: '<script>' },
  } as const
  await db.tx((tx) => queueMail({ db: tx, ports }, invite))
  await eventually(() => mails.length === 1, 'the mail to arrive')
  const [mail] = mails
  const to = Array.isArray(mail?.to) ? mail.to.flatMap(({ value }) => value) : mail?.to?.value
  expect(to?.map(({ address }) => address)).toEqual(['ann@example.com'])
  expect(mail?.headers.has('bcc')).toBe(false)
  expect(mail?.subject).not.toMatch(/[\r\n]/)
  expect(String(mail?.html)).not.toContain('<img src=x>')
  expect(String(mail?.html)).toContain('&lt;script&gt;')
  expect(mail?.text).toContain('<script>')
})

test('what waits in the queue shows neither whom it is for nor its link', async () => {
  await db.tx((tx) => queueMail({ db: tx, ports }, reset()))
  const text = JSON.stringify(await queued())
  expect(text).toContain('sealed')
  for (const secret of ['canary', 'ann@example.com', Buffer.from('canary').toString('base64').slice(0, 6)])
    expect(text).not.toContain(secret)
})

test('a mail goes where its transaction goes', async () => {
  const undone = db.tx(async (tx) => {
    await queueMail({ db: tx, ports }, reset())
    throw new Error('changed my mind')
  })
  await expect(undone).rejects.toThrow('changed my mind')
  expect(await queued()).toHaveLength(0)
})

test('a server that is away or busy gets it later', async () => {
  const gone = await mailServer()
  await ends.pop()?.()
  const metrics = await work(sender(gone.port))
  await db.tx((tx) => queueMail({ db: tx, ports }, reset()))
  await eventually(async () => (await counted(metrics, 'retried')) === 1, 'the first attempt')
  let busy = true
  const { mails } = await mailServer(
    {
      onRcptTo: (_to, _session, done) =>
        done(busy ? Object.assign(new Error('later'), { responseCode: 451 }) : null),
    },
    gone.port,
  )
  await eventually(async () => (await queued())[0]?.lastError !== null, 'the failure to be noted')
  await eventually(async () => {
    await hurry()
    return (await counted(metrics, 'retried')) === 2
  }, 'the second attempt')
  busy = false
  await eventually(async () => {
    await hurry()
    return mails.length === 1
  }, 'the mail to arrive')
  expect(await counted(metrics, 'failed')).toBeUndefined()
})

test('a refusal for good is not tried again: the log and a counter say so', async () => {
  const unknown = Object.assign(new Error('no such mailbox'), { responseCode: 550 })
  const { port } = await mailServer({ onRcptTo: (_to, _session, done) => done(unknown) })
  const metrics = await work(sender(port))
  await db.tx((tx) => queueMail({ db: tx, ports }, reset()))
  await eventually(async () => (await counted(metrics, 'failed')) === 1, 'the failure to be counted')
  await eventually(async () => (await queued())[0]?.lastError !== null, 'the failure to be noted')
  const [job] = await queued()
  expect(job?.attempts).toBe(job?.maxAttempts)
  expect(job?.lastError).toContain('no such mailbox')
  expect(logged).toMatchObject([{ level: 'error', message: 'a job failed for good' }])
  expect(JSON.stringify(logged)).not.toContain('canary')
})

test.each([
  ['for good', 554, 'failed'],
  ['for now', 451, 'retried'],
] as const)(
  'what a server quotes when it refuses %s stands in no log and no row',
  async (_, responseCode, outcome) => {
    const { port } = await mailServer({
      onData: (stream, _session, done) => {
        stream
          .resume()
          .once('end', () => done(Object.assign(new Error(`blocked: <${link}>`), { responseCode })))
      },
    })
    const metrics = await work(sender(port))
    await db.tx((tx) => queueMail({ db: tx, ports }, reset()))
    await eventually(async () => (await counted(metrics, outcome)) === 1, 'the failure to be counted')
    await eventually(async () => (await queued())[0]?.lastError !== null, 'the failure to be noted')
    const [job] = await queued()
    expect(job?.lastError).toContain('blocked: <[withheld]>')
    const told = logged.map(({ details }) => inspect(details, { depth: 10, showHidden: true }))
    expect(told.join()).toContain('blocked')
    expect(told.join()).not.toContain('canary-of')
  },
)

test('nor does the password that it quotes', async () => {
  const { port } = await mailServer({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) =>
      done(
        new Error(`wrong: ${Buffer.from(`\0${username}\0${password}`).toString('base64')} is ${password}`),
      ),
  })
  await db.tx((tx) => queueMail({ db: tx, ports }, reset()))
  const metrics = await work(sender(port, 'us:canary-password@'))
  await eventually(async () => (await counted(metrics, 'retried')) === 1, 'a retry')
  await eventually(async () => (await queued())[0]?.lastError !== null, 'the failure to be noted')
  const [job] = await queued()
  expect(job?.lastError).toMatch(/wrong: \[withheld\]=* is \[withheld\]$/)
  expect(inspect(logged, { depth: 10, showHidden: true })).not.toMatch(/canary-password|Y2FuYXJ5/)
})

test('a wrong password of ours is no refusal of the mail', async () => {
  const { mails, port } = await mailServer({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) =>
      username === 'us' && password === 'p@ss' ? done(null, { user: 'us' }) : done(new Error('wrong')),
  })
  await db.tx((tx) => queueMail({ db: tx, ports }, reset()))
  const metrics = await work(sender(port, 'us:wrong@'))
  await eventually(async () => (await counted(metrics, 'retried')) === 1, 'a retry')
  await ends.pop()?.()
  await work(sender(port, 'us:p%40ss@'))
  await eventually(async () => {
    await hurry()
    return mails.length === 1
  }, 'the mail to arrive')
})

test('a mail whose link is over is not sent', async () => {
  const { mails, port } = await mailServer()
  const metrics = await work(sender(port))
  await db.tx((tx) => queueMail({ db: tx, ports }, reset(new Date(Date.now() - 1_000))))
  await eventually(async () => (await counted(metrics, 'done')) === 1, 'the job to be done')
  expect(mails).toEqual([])
  expect(logged).toMatchObject([{ level: 'warn', details: { kind: 'reset-password' } }])
})

test('where no mail is sent at all none is queued, and the caller is told', async () => {
  const silent = { ...on.deps.ports, config: { mail: undefined } }
  expect(await db.tx((tx) => queueMail({ db: tx, ports: silent }, reset()))).toBe(false)
  expect(await queued()).toHaveLength(0)
})
