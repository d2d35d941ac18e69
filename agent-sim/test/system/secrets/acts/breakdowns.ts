import { readConfig as readGatewayConfig } from '@svc/edge-gateway'
import { readConfig } from '@svc/control-plane'
import type postgres from 'postgres'
import { until } from '../../harness/until.ts'
import { chosen, chosenToken } from '../canaries.ts'
import type { Asking } from '../client.ts'
import type { KindName } from '../../../../../control-plane/test/contract/secrets/kinds.ts'
import type { Stage } from '../stage.ts'
import type { Person } from './login.ts'
import { machine } from './machines.ts'
import { invite } from './people.ts'

const lastErrors = async (sql: postgres.Sql): Promise<string[]> => {
  const rows = await sql<{ text: string }[]>`
    select last_error as text from graphile_worker._private_jobs where last_error is not null`
  return rows.map(({ text }) => text)
}

/** A mail server, a provider of text messages and a release host that refuse, and quote what they refuse. */
export async function othersRefuse(stage: Stage, admin: Person, invited: Person): Promise<void> {
  const { client, canaries, mail, sms, releases, system } = stage
  mail.refuse()
  sms.refuse()
  releases.refuse()
  const email = 'unreached@customer.example'
  await invite(stage, admin, email)
  await until(
    'the mail is refused',
    async () => mail.refused > 0 && (await lastErrors(system.sql)).length > 0,
    15_000,
  )
  canaries.shown('token of a link', 'that was refused', mail.tokenFor(email))

  const phoneNumber = '+4915187654321'
  await client.want(502, 'POST', '/auth/phone/verify', {
    body: { phoneNumber, currentPassword: invited.password },
    headers: invited.bearer,
  })
  canaries.code('SMS code', sms.codeFor(phoneNumber), [phoneNumber])
  await client.want(502, 'POST', '/agent-versions/sync-github', { headers: admin.bearer })
  if (releases.asked.length === 0) throw new Error('the release host was not asked')
}

/** The API once more, with another password than Redis has. @returns what it logged */
export async function redisRefuses({ system, canaries }: Stage, without = ''): Promise<string> {
  const url = new URL(system.redis.url)
  url.password = canaries.choose(
    'Redis password',
    `that is wrong${without && `, without ${without}`}`,
    chosenToken,
  )
  await system.api.kill()
  await system.startRole('api', { REDIS_URL: url.href, SVC_TEST_WITHOUT: without })
  await until('it has noticed', () => system.api.log().includes('redis, for rate limits'), 10_000)
  return system.api.log()
}

/** What will be asked once the database is gone. */
export function lastRequests({ canaries }: Stage, { email }: Person): [path: string, asking: Asking][] {
  const secret = (kind: KindName, make = chosen) => canaries.choose(kind, 'while the database is gone', make)
  const tempToken = secret('tempToken', chosenToken)
  const token = secret('token of a link', chosenToken)
  return [
    ['/auth/login', { body: { email, password: secret('password') } }],
    ['/auth/refresh', { body: { refreshToken: secret('refresh token', chosenToken) } }],
    ['/auth/mfa/verify', { body: { tempToken, code: secret('recovery code', recoveryCode) } }],
    ['/auth/reset-password', { body: { token, password: secret('password') } }],
    ['/agents/enroll', { body: { ...machine, enrollmentKey: secret('enrollment key', chosenToken) } }],
  ]
}

/** The database is gone: nobody gets in, and everybody is told to try again. */
export async function databaseIsGone(
  { client, database }: Stage,
  requests: ReturnType<typeof lastRequests>,
): Promise<void> {
  await database.kill()
  for (const [path, asking] of requests) await client.want(503, 'POST', path, asking)
}

/** Of the right form. */
const recoveryCode = () =>
  Buffer.from(chosenToken())
    .toString('hex')
    .replaceAll(/[^2-7a-f]/g, 'q')
    .toUpperCase()
    .slice(0, 25)

/** Each variable with something in it that cannot be used; what is said about it. */
export function misconfigured({ canaries }: Stage): { variable: string; said: string }[] {
  const wrong = (variable: string, kind: KindName) => ({
    variable,
    value: canaries.choose(kind, `in ${variable}`, chosenToken),
  })
  const least = {
    DATABASE_URL: 'postgres://localhost/svc',
    KEYS_DIR: '/keys',
    EDGE_SHARED_KEY: 'x'.repeat(32),
  }
  const cases = [
    wrong('DATABASE_URL', 'database password'),
    wrong('DATABASE_APP_URL', 'database password'),
    wrong('DATABASE_WORKER_URL', 'database password'),
    wrong('REDIS_URL', 'Redis password'),
    wrong('SMTP_URL', 'SMTP password'),
  ]
  const short = canaries.choose('EDGE_SHARED_KEY', 'too short', () => chosenToken().slice(0, 31))
  const reasons = [
    ...cases.map(({ variable, value }) => [variable, `//svc:${value}@host`] as const),
    ['EDGE_SHARED_KEY', short] as const,
  ].map(([variable, text]) => ({
    variable,
    said: complaint(() => readConfig({ ...least, [variable]: text })),
  }))
  const ofGateway = complaint(() => readGatewayConfig({ ...least, REDIS_URL: `//:${cases[3]?.value}@host` }))
  return [...reasons, { variable: 'REDIS_URL of a gateway', said: ofGateway }]
}

function complaint(read: () => unknown): string {
  try {
    read()
  } catch (error) {
    return String((error as Error).stack)
  }
  throw new Error('a configuration that cannot be used is taken')
}
