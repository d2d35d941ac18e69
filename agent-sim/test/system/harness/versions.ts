import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { svc } from '@svc/proto'
import postgres from 'postgres'
import { emptyDatabase, type TestDatabase } from '../../../../control-plane/test/harness/database.ts'
import { bundle } from '../../../../tools/bundle.mjs'
import { baseCommit, programsOf } from '../../../../tools/compat/base.ts'
import { freePort, startRedis } from '../../../../tools/services.ts'
import { login } from '../../../../tools/token/login.ts'
import { Api } from './api.ts'
import { type Front, openFront } from './front.ts'
import { numberVariables } from './numbers.ts'
import { type Program, startProgram } from './program.ts'
import { seed, type Tenant } from './seed.ts'
import { tap, type Wiretap } from './wiretap.ts'

export const versions = ['base', 'today'] as const
export type Version = (typeof versions)[number]

/** Where the programs of a version lie. */
export const folderOf = (version: Version): Promise<string> =>
  version === 'today' ? bundle() : programsOf(baseCommit())

const run = promisify(execFile)

/** The tenant as that version makes it: a database belongs to the version that migrated it. */
async function seedBy(version: Version, env: Record<string, string>): Promise<Tenant> {
  if (version === 'today') return seed(env)
  const script = join(await folderOf('base'), 'seed.mjs')
  const { stdout } = await run(process.execPath, [script], { env: { PATH: process.env['PATH'], ...env } })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Tenant
}

/** A control plane of one version, with a gateway and agents of each, and a front that leads to one gateway at a time. */
export interface Meeting {
  api: Api
  front: Front
  gatewayPort: Record<Version, number>
  /** the channel of each gateway */
  taps: Record<Version, Wiretap>
  /** the connections that devices hold by the database, as `<hostname> <node>`, and with `epochs` those, too */
  holders(epochs?: 'epochs'): Promise<string[]>
  /** Kills the gateway of a version and starts it again at the same place. */
  restartGateway(of: Version): Promise<void>
  /** One call of the gateways' exchange with the control plane. */
  exchange(asked: svc.v1.ExchangeRequest.$Properties): Promise<svc.v1.ExchangeAnswer>
  /** Starts two agents of the program in `folder`; `name` stands before their hostnames, and brings the same devices back. */
  startAgents(name: string, folder: string): Promise<Program>
  /** device ids by hostname */
  devices: () => Promise<Map<string, string>>
  close(): Promise<void>
}

/**
 * Brings up a control plane of `version` and a gateway of each version. Its front leads to the gateway of today at first.
 * @param database makes it one with nothing in it; default: on the test run's server
 */
export async function meet(version: Version, database = emptyDatabase): Promise<Meeting> {
  /** last in, first out */
  const opened: (() => unknown)[] = []
  const close = async () => {
    for (const undo of opened.splice(0).toReversed()) await undo()
  }
  try {
    return await open(version, database, opened, close)
  } catch (error) {
    await close()
    throw error
  }
}

async function open(
  version: Version,
  makeDatabase: () => Promise<TestDatabase>,
  opened: (() => unknown)[],
  close: () => Promise<void>,
): Promise<Meeting> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-versions-'))
  opened.push(() => rmSync(folder, { recursive: true, force: true }))
  const redis = await startRedis({ dir: join(folder, 'redis') })
  opened.push(() => redis.stop())
  const database = await makeDatabase()
  opened.push(() => database.drop())
  const ports = await Promise.all(Array.from({ length: 5 }, () => freePort()))
  const [port = 0, internal = 0, frontPort = 0, base = 0, today = 0] = ports
  const gatewayPort = { base, today }
  const apiUrl = `http://127.0.0.1:${port}`
  const env: Record<string, string> = {
    NODE_ENV: 'test',
    ...numberVariables,
    DATABASE_URL: database.url,
    MIGRATIONS_DIR: join(await folderOf(version), 'migrations'),
    REDIS_URL: redis.url,
    KEYS_DIR: join(folder, 'keys'),
    EDGE_SHARED_KEY: randomBytes(32).toString('hex'),
    PORT: String(port),
    INTERNAL_PORT: String(internal),
    METRICS_PORT: '0',
    GATEWAY_METRICS_PORT: 'off',
    MQTT_PORT: 'off',
    MQTTS_PORT: 'off',
    PUBLIC_URL: apiUrl,
    GATEWAY_URLS: `ws://127.0.0.1:${frontPort}/agent`,
    EXCHANGE_URL: `http://127.0.0.1:${internal}/internal/edge/exchange`,
  }
  const start = async (from: string, entry: string, ready: RegExp, more = {}, args: string[] = []) => {
    const program = await startProgram({ folder: from, entry, args, env: { ...env, ...more }, ready })
    opened.push(() => program.kill())
    return program
  }
  const tenant = await seedBy(version, env)
  await start(await folderOf(version), 'control-plane', /control plane is up/)
  const startGateway = async (of: Version) => {
    const own = { GATEWAY_PORT: String(gatewayPort[of]), GATEWAY_NODE: `of-${of}` }
    return start(await folderOf(of), 'gateway', /accepting agents/, own)
  }
  const gateways = { base: await startGateway('base'), today: await startGateway('today') }
  const taps = { base: await tap(redis.url, 'of-base'), today: await tap(redis.url, 'of-today') }
  opened.push(() => versions.forEach((of) => taps[of].close()))
  const front = await openFront(frontPort)
  opened.push(() => front.close())
  front.leadTo(today)
  const { accessToken } = await login(apiUrl, tenant, () => undefined)
  const api = new Api(apiUrl, accessToken)
  const sql = postgres(database.url, { max: 1, connection: { search_path: 'svc' } })
  opened.push(() => sql.end({ timeout: 5 }))

  return {
    api,
    front,
    gatewayPort,
    close,
    taps,
    restartGateway: async (of) => {
      await gateways[of].kill()
      gateways[of] = await startGateway(of)
    },
    exchange: async (asked) => {
      const answer = await fetch(env['EXCHANGE_URL'] ?? '', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${env['EDGE_SHARED_KEY']}`,
          'content-type': 'application/x-protobuf',
        },
        body: Buffer.from(svc.v1.ExchangeRequest.encode(asked).finish()),
      })
      if (answer.status !== 200) throw new Error(`the exchange answered ${answer.status}`)
      return svc.v1.ExchangeAnswer.decode(new Uint8Array(await answer.arrayBuffer()))
    },
    holders: async (epochs) => {
      const rows = await sql<{ hostname: string; node: string; epoch: string }[]>`
        select d.hostname, p.node, p.epoch from devices d join device_presence p on p.device_id = d.id
        where p.node is not null and d.status = 'online' order by d.hostname`
      return rows.map(({ hostname, node, epoch }) => `${hostname} ${node}${epochs ? ` ${epoch}` : ''}`)
    },
    devices: async () => {
      type List = { devices: { id: string; hostname: string }[] }
      const { devices } = await api.want<List>(200, 'GET', '/devices')
      return new Map(devices.map(({ id, hostname }) => [hostname, id]))
    },
    startAgents: (name, from) => {
      const args = ['fleet', '--agents', '2', '--prefix', `${name}-`, '--state-dir', join(folder, name)]
      const more = { SVC_API: apiUrl, SVC_ENROLLMENT_KEY: tenant.enrollmentKey }
      return start(from, 'agent', /connected \d+\/2/, more, args)
    },
  }
}
