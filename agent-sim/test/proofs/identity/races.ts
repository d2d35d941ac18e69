import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { deviceKey } from '@svc/proto'
import { Api } from '../../system/harness/api.ts'
import { all, none, type Row } from '../verdict.ts'
import type { Place } from './world.ts'

const parallel = 50
const most = 10

interface Tried {
  status: number
  deviceId: string | undefined
  token: string | undefined
  beganAt: number
}

/** So many enroll at once, spread over the control planes. */
function storm({ planes }: Place, enrollmentKey: string, count: number, more: object = {}): Promise<Tried[]> {
  const facts = { osType: 'linux', architecture: 'amd64', agentVersion: '1.0.0' }
  return Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const beganAt = Date.now()
      const body = { enrollmentKey, hostname: `racer-${n}`, ...facts, ...more }
      const { status, body: said } = await new Api(planes[n % planes.length] ?? '').ask<{
        deviceId?: string
        deviceToken?: string
      }>('POST', '/agents/enroll', body)
      return { status, deviceId: said?.deviceId, token: said?.deviceToken, beganAt }
    }),
  )
}

const enrolledBy = async ({ system }: Place, keyId: string): Promise<number> => {
  const [row] = await system.sql<
    { n: number }[]
  >`select count(*)::int as n from devices where enrollment_key_id = ${keyId}`
  return row?.n ?? 0
}

const good = (tried: readonly Tried[]) => tried.filter(({ status }) => status === 201)

/** A key that many use at once, until it is used up, revoked, expired; and one device that asks twice. */
export async function races(place: Place): Promise<Row[]> {
  const { office, home, admins } = place
  const make = (more: Parameters<typeof office.make.enrollmentKey>[1]) =>
    office.make.enrollmentKey(home, more)
  const limited = await make({ maxUsage: most })
  const ten = await storm(place, limited.key, parallel)
  const others = ten.filter(({ status }) => status !== 201 && status !== 401)
  const rows = [
    all(`devices of ${parallel} at once on a key for ${most}`, most, await enrolledBy(place, limited.id)),
    all('answers that say so', most, good(ten).length),
    none(
      'answers that are neither a device nor a refusal',
      others.map(({ status }) => String(status)),
    ),
  ]
  rows.push(
    await ended(place, 'revoked', await make({ maxUsage: null }), async ({ id }) => {
      await sleep(30)
      await admins[0]?.want(200, 'DELETE', `/enrollment-keys/${id}`)
    }),
  )
  const soon = new Date(Date.now() + 400)
  rows.push(
    await ended(place, 'expired', await make({ maxUsage: null, expiresAt: soon }), () =>
      sleep(soon.getTime() - Date.now()),
    ),
  )
  const twice = await make({ maxUsage: 1 })
  const { publicKey } = deviceKey(randomBytes(32))
  const same = await storm(place, twice.key, 6, { publicKey: publicKey.toString('base64') })
  rows.push(
    all('devices of one that enrolls six times at once', 1, await enrolledBy(place, twice.id)),
    all(
      'of its answers, those that name it',
      6,
      same.filter(({ deviceId }) => deviceId && deviceId === same[0]?.deviceId).length,
    ),
  )
  return rows
}

/** Of enrollments that begin before and after a key ends, none that began after it makes a device, and each answer is true. */
async function ended(
  place: Place,
  how: string,
  key: { id: string; key: string },
  end: (key: { id: string }) => Promise<unknown>,
): Promise<Row> {
  const over = end(key).then(() => Date.now())
  const tried = [...(await storm(place, key.key, 20))]
  const at = await over
  tried.push(...(await storm(place, key.key, 10)))
  const devices = await enrolledBy(place, key.id)
  const late = good(tried).filter(({ beganAt }) => beganAt > at)
  return none(`what a key does after it was ${how}`, [
    ...late.map(({ deviceId }) => `made ${deviceId}`),
    ...(devices === good(tried).length ? [] : [`${devices} devices of ${good(tried).length} answers`]),
  ])
}
