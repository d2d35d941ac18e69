import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { tokenHash } from '@svc/proto'
import { names } from '@svc/proto/bus'
import { Redis } from 'ioredis'
import { type Crowd, startCrowd } from '../../system/harness/crowd.ts'
import { dial } from '../../system/harness/peer.ts'
import { until } from '../../system/harness/until.ts'
import { pick } from '../random.ts'
import { all, none, type Row, within } from '../verdict.ts'
import { deviceRow, deviceRows, type Place, times } from './world.ts'

/** Everything that an agent ever wrote down: the last line is what it would start from. */
interface Written {
  number: number
  deviceId: string
  deviceToken: string
  nextToken?: string
  previousToken?: string
}

const written = ({ system }: Place, name: string): Written[] =>
  readFileSync(join(system.folder, name, 'identities.jsonl'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Written)

const lastOf = (place: Place, name: string) =>
  new Map(written(place, name).map((one) => [one.deviceId, one] as const))

/** Each renews once at least, while everything around it dies. */
const minGeneration = 2

/** Devices renew all the time; agents, gateways and control planes are killed meanwhile, at moments of the seed. */
export async function renewal(
  place: Place,
  options: { agents: number; seconds: number; random: () => number },
): Promise<Row[]> {
  const { system, home, office } = place
  const { key: enrollmentKey } = await office.make.enrollmentKey(home, { maxUsage: null })
  const common = { transports: { websocket: 2, mqtt: 1 }, enrollmentKey, agents: options.agents }
  const churn = { perMinute: 600, seed: 7 }
  const crowds = [
    await startCrowd(system, { ...common, name: 'plain', churn }),
    await startCrowd(system, { ...common, name: 'keyed', churn, deviceKeys: true }),
  ]
  const ids = crowds.flatMap((crowd) => crowd.ids)
  let kills = 0
  const renewed = async () =>
    (await deviceRows(place, ids)).every((row) => row.tokenGeneration >= minGeneration)
  const began = performance.now()
  // However slow the machine: until each has renewed so often.
  while (performance.now() - began < options.seconds * 1000 || !(await renewed())) {
    await killOne(place, options.random)
    kills++
    await sleep(300 + options.random() * 700)
    if (performance.now() - began > options.seconds * 1000 + 120_000) break
  }
  await drainEach(place)
  await Promise.all(crowds.map((crowd) => crowd.fleet.kill()))
  const known = new Map([...lastOf(place, 'plain'), ...lastOf(place, 'keyed')])
  const rows = await deviceRows(place, ids)
  const earlier = (
    await Promise.all(crowds.map((crowd) => goBack(place, known.get(crowd.ids.at(-1) ?? ''))))
  ).filter((gone) => gone !== undefined)
  const back = await Promise.all([
    startCrowd(system, { ...common, name: 'plain' }),
    startCrowd(system, { ...common, name: 'keyed', deviceKeys: true }),
  ])
  const result = [
    all(
      `devices that renewed ${minGeneration - 1} times or more, through ${kills} kills`,
      ids.length,
      rows.filter(({ tokenGeneration }) => tokenGeneration >= minGeneration).length,
    ),
    none(
      'devices that their agents cannot prove',
      rows.flatMap((row) => locked(row, known.get(row.id))),
    ),
    none(
      'devices taken for copies of themselves',
      rows.flatMap(({ id, quarantineReason: why }) => (why ? [`${id}: ${why}`] : [])),
    ),
    all('devices of which the database is a renewal behind', crowds.length, earlier.length),
    all('devices that are let in by what is on their disks', ids.length, back.flatMap(metBy).length),
    none(
      'devices taken for copies once they are back',
      (await deviceRows(place, ids)).flatMap(({ id, quarantineReason: why }) =>
        why ? [`${id}: ${why}`] : [],
      ),
    ),
    ...(await oldToken(place, back[0], 'plain')),
  ]
  await Promise.all(back.map((crowd) => crowd.fleet.kill()))
  return result
}

/** Devices that were let in once: at any moment some of them are about to change their tokens. */
const metBy = ({ events }: Crowd) => [
  ...new Set(events.flatMap(({ kind, number }) => (kind === 'connected' ? [number] : []))),
]

/** Their devices move from one gateway to the other, and back. */
async function drainEach({ system }: Place): Promise<void> {
  for (const index of [0, 1]) {
    const ended = await system.gateway(index).terminate()
    if (ended !== 'ended with code 0') throw new Error(`gateway ${index} ${ended}`)
    await system.startGateway(index)
  }
}

/** What a restore to before its last renewal leaves of a device, at the server and at gateways; undefined where it has renewed never. */
async function goBack({ system }: Place, held: Written | undefined): Promise<string | undefined> {
  if (!held?.previousToken) return undefined
  const { deviceId, previousToken } = held
  const before = tokenHash(previousToken)
  await system.sql.begin(async (sql) => {
    await sql`delete from device_past_tokens where device_id = ${deviceId} and token_sha256 = ${before}`
    await sql`
      update devices set token_sha256 = ${before}, next_token_sha256 = null, token_generation = token_generation - 1
      where id = ${deviceId}`
  })
  const redis = new Redis(system.redis.url)
  await redis.del(names.device(deviceId))
  redis.disconnect()
  return deviceId
}

async function killOne({ system }: Place, random: () => number): Promise<void> {
  const index = pick([0, 1], random)
  if (random() < 0.5) {
    await system.controlPlane(index).kill()
    await system.startControlPlane(index)
  } else {
    await system.gateway(index).kill()
    await system.startGateway(index)
  }
}

/** One of what the agent holds must be good, and what is good must be one that it holds. */
function locked(
  {
    id,
    tokenSha256,
    nextTokenSha256,
  }: { id: string; tokenSha256: Buffer | null; nextTokenSha256: Buffer | null },
  held: Written | undefined,
): string[] {
  const tokens = [held?.deviceToken, held?.nextToken].flatMap((token) => (token ? [tokenHash(token)] : []))
  const holds = (hash: Buffer | null) => hash === null || tokens.some((one) => one.equals(hash))
  return [
    ...(tokenSha256 && holds(tokenSha256) ? [] : [`${id}: its present token is not on its disk`]),
    ...(holds(nextTokenSha256) ? [] : [`${id}: its next token is not on its disk`]),
  ]
}

/** A token of an earlier generation: refused, and whoever has the present one is cut off with whoever showed it. */
async function oldToken(place: Place, crowd: Crowd | undefined, name: string): Promise<Row[]> {
  const deviceId = crowd?.ids[0] ?? ''
  const mine = written(place, name).filter((one) => one.deviceId === deviceId)
  const now = mine.at(-1)
  const old = mine.find(
    ({ deviceToken }) => deviceToken !== now?.deviceToken && deviceToken !== now?.previousToken,
  )
  if (!crowd || !old) return [none('an old token', ['there is none'])]
  await sleep(times.replacedMs + 500)
  const peer = await dial(place.system.gatewayUrls[0] ?? '', old.deviceToken)
  if (typeof peer === 'number') throw new Error(`turned away with ${peer}`)
  const answer = await peer.greet({ instanceId: 'a copy' })
  const at = Date.now()
  await until(
    'an old token locks its device',
    async () => (await deviceRow(place, deviceId)).lifecycle === 'quarantined',
    6_000,
  ).catch(() => undefined)
  const isOut = () =>
    crowd.events.find(
      (event) =>
        event.at >= at - 2_000 && event.number === crowd.number(deviceId) && event.kind === 'refused',
    ) ??
    crowd.events.find(
      (event) =>
        event.at >= at - 2_000 &&
        event.number === crowd.number(deviceId) &&
        event.kind === 'disconnected' &&
        event.reason === 'QUARANTINED',
    )
  await until('who has the present token is out', () => Boolean(isOut()), 6_000).catch(() => undefined)
  const row = await deviceRow(place, deviceId)
  return [
    none('an old token lets in', answer?.welcome ? ['it was welcome'] : []),
    none(
      'a device goes on of which an old token was shown',
      row.lifecycle === 'quarantined' ? [] : [row.lifecycle],
    ),
    within('who has the present token of a copied device is cut', 5_000, [
      Math.max(0, (isOut()?.at ?? Number.POSITIVE_INFINITY) - at),
    ]),
  ]
}
