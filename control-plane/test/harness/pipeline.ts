import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { signCommand, svc } from '@svc/proto'
import { type Bus, MemoryBus, names } from '@svc/proto/bus'
import type { Sql } from 'postgres'
import { Registry } from 'prom-client'
import { v7 as uuid } from 'uuid'
import { systemClock } from '../../src/adapters/clock.ts'
import { type Database, openPool } from '../../src/adapters/postgres.ts'
import type { SigningKeys } from '../../src/adapters/signing-keys.ts'
import { trailOf } from '../../src/engines/work/trail.ts'
import { UpdateDesk } from '../../src/engines/updates/desk.ts'
import { shownMail, type Shown } from '../../src/adapters/shown.ts'
import { Keyring } from '../../src/engines/secrets/keyring.ts'
import { inboxCounters } from '../../src/inbox/counters.ts'
import type { StreamDeps } from '../../src/inbox/inbox.ts'
import type { ShardLease } from '../../src/inbox/lease.ts'
import { type WorkerDb, workerDb } from '../../src/kernel/db.ts'
import { Pipeline } from '../../src/pipeline.ts'
import type { WorkerDeps } from '../../src/worker.ts'
import { databaseForFile } from './database.ts'
import { releaseKeyId } from './release.ts'

export interface TestPipeline {
  /** the superuser's */
  url: string
  /** as the superuser: arranges and looks */
  sql: Sql
  db: WorkerDb
  /** role svc_worker */
  pool: Database
  bus: Bus
  deps: StreamDeps & Pick<WorkerDeps, 'log'> & { ports: WorkerDeps['ports']; metrics: Registry }
  /** mail that jobs sent */
  mailed: Shown[]
  publicKey: ReturnType<typeof generateKeyPairSync>['publicKey']
  partnerId: string
  orgId: string
  siteId: string
  /** what was logged at `warn` and `error`, and security events */
  logged: { level: string; message: string; details: object }[]
  close(): Promise<void>
}

const signing = () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const keys: SigningKeys = {
    sign: (body) => ({ signature: signCommand(body, privateKey), keyId: 'test' }),
    publicKeys: () => [],
  }
  return { publicKey, keys }
}

/** A database of the file's own with one tenant, the worker's view of it, and a bus. `numbers` shrink what must not be waited for. */
export async function openPipeline(
  numbers: Partial<Record<keyof Pipeline, number>> = {},
  bus: Bus = new MemoryBus(),
): Promise<TestPipeline> {
  const { url } = await databaseForFile()
  const sql = openPool({ url, max: 3, name: 'test' })
  const pool = openPool({ url, role: 'svc_worker', max: 10, name: 'test-worker' })
  const db = workerDb(pool, { kind: 'system' })
  const { publicKey, keys } = signing()
  const headKey = { id: 'test', ...generateKeyPairSync('ed25519') }
  const logged: TestPipeline['logged'] = []
  const keep = (level: string) => (details: object, message: string) =>
    void logged.push({ level, message, details })
  const log: WorkerDeps['log'] = {
    child: () => ({ info: () => undefined }),
    info: () => undefined,
    warn: keep('warn'),
    error: keep('error'),
  }
  const security: StreamDeps['security'] = (event, message, details = {}) =>
    void logged.push({ level: 'security', message, details: { event, ...details } })
  const metrics = new Registry()
  const pipeline = Pipeline.parse(numbers)
  const config = {
    pipeline,
    releaseKeys: [{ keyId: releaseKeyId }],
    mail: { driver: 'shown' } as const,
    publicUrl: 'http://svc.test',
  }
  const mailed: Shown[] = []
  const ports = {
    bus,
    clock: systemClock,
    signingKeys: keys,
    trail: trailOf(),
    updates: new UpdateDesk(pipeline),
    config,
    node: 'test',
    headKey: () => headKey,
    secrets: new Keyring({ id: '0a0b0c0d', key: randomBytes(32) }),
    mailer: shownMail((shown) => mailed.push(shown)),
  }
  const [partnerId, orgId, siteId] = [uuid(), uuid(), uuid()]
  // The queue takes nothing that is sealed under a key which the database does not know.
  await sql`insert into sealing_keys (key_id, proof) values ('0a0b0c0d', '')`
  await sql`insert into partners (id, name, slug) values (${partnerId}, 'P', 'p')`
  await sql`insert into organizations (id, partner_id, name, slug) values (${orgId}, ${partnerId}, 'O', 'o')`
  await sql`insert into sites (id, partner_id, org_id, name) values (${siteId}, ${partnerId}, ${orgId}, 'S')`
  return {
    url,
    sql,
    db,
    pool,
    bus,
    deps: { db, ports, log, counters: inboxCounters(metrics), security, metrics },
    mailed,
    publicKey,
    partnerId,
    orgId,
    siteId,
    logged,
    close: async () => {
      await Promise.all([sql.end(), pool.end(), bus.close()])
    },
  }
}

export interface DeviceFacts {
  connectivity?: 'online' | 'offline'
  lifecycle?: 'pending' | 'active' | 'quarantined' | 'decommissioned'
  activity?: 'none' | 'updating'
  epoch?: number
  node?: string | null
  lastSeenAt?: Date | null
  /** of these shards, in turn */
  shards?: readonly number[]
}

/** A device id in a given shard. */
export const idInShard = (shard: number): string => uuid().slice(0, -1) + shard.toString(16)

/** Devices with their presence rows. */
export async function makeDevices(
  on: TestPipeline,
  count: number,
  facts: DeviceFacts = {},
): Promise<string[]> {
  const {
    connectivity = 'offline',
    lifecycle = 'active',
    activity = 'none',
    epoch = 0,
    node = null,
    lastSeenAt = null,
  } = facts
  const shards = facts.shards ?? [0]
  const ids = Array.from({ length: count }, (_, i) => idInShard(shards[i % shards.length] ?? 0))
  await on.sql`
    insert into devices (id, partner_id, org_id, site_id, hostname, os_type, connectivity, lifecycle, activity)
    select id, ${on.partnerId}, ${on.orgId}, ${on.siteId}, 'host-' || right(id::text, 6), 'linux', ${connectivity}, ${lifecycle},
      ${activity} from unnest(${ids}::uuid[]) as id`
  await on.sql`
    insert into device_presence (device_id, partner_id, org_id, epoch, node, last_seen_at)
    select id, ${on.partnerId}, ${on.orgId}, ${epoch}, ${node}, ${lastSeenAt} from unnest(${ids}::uuid[]) as id`
  return ids
}

/** A gateway node whose lease lasts. */
export const makeNode = async (on: TestPipeline, node: string, leaseMs = 60_000): Promise<void> => {
  await on.sql`
    insert into gateway_nodes (node, version, lease_until) values (${node}, '1', now() + ${leaseMs} * interval '1 ms')
    on conflict (node) do update set lease_until = excluded.lease_until`
}

/** The lease of a shard, as its new owner. */
export async function own(on: TestPipeline, shard: number, owner = 'tester'): Promise<ShardLease> {
  const [row] = await on.sql<{ fence: number }[]>`
    update shard_leases set owner = ${owner}, fence = fence + 1, lease_until = now() + interval '1 hour'
    where shard = ${shard} returning fence`
  return { shard, owner, fence: row?.fence ?? 0 }
}

let entries = 0

type Items = readonly svc.v1.IUpItem[]

/** One stream entry. `throughMs`: absent for none. */
export const entry = (node: string, items: Items, throughMs = 0) => ({
  id: String(++entries),
  payload: svc.v1.UpBatch.encode({ node, completeThroughMs: throughMs, items: [...items] }).finish(),
})

/** What a gateway does: one entry onto the stream of the items' shard. */
export const handUp = (
  bus: Bus,
  node: string,
  shard: number,
  items: Items,
  throughMs = Date.now(),
): Promise<void> => bus.append(names.up(shard), entry(node, items, throughMs).payload)

const at = (deviceId: string, epoch: number, receivedAtMs = Date.now()) => ({ deviceId, epoch, receivedAtMs })

/** Items as gateways make them. */
export const item = {
  beat: (id: string, epoch: number, heartbeat: svc.v1.IHeartbeat = {}, ms?: number) => ({
    ...at(id, epoch, ms),
    heartbeat: { agentVersion: '1.0.0', configVersion: 1, ...heartbeat },
  }),
  connect: (id: string, epoch: number, session: svc.v1.ISessionEvent = {}) => ({
    ...at(id, epoch),
    session: {
      kind: svc.v1.SessionEvent.Kind.CONNECTED,
      hello: { agentVersion: '1.0.0' },
      remoteAddress: '192.0.2.7',
      ...session,
    },
  }),
  disconnect: (id: string, epoch: number, reason = svc.v1.CloseReason.PEER_CLOSED) => ({
    ...at(id, epoch),
    session: { kind: svc.v1.SessionEvent.Kind.DISCONNECTED, reason },
  }),
  ack: (id: string, epoch: number, commandId: string) => ({
    ...at(id, epoch),
    commandAck: { commandId, attempt: 1 },
  }),
  progress: (id: string, epoch: number, commandId: string) => ({
    ...at(id, epoch),
    commandProgress: { commandId, attempt: 1 },
  }),
  result: (id: string, epoch: number, commandId: string, result: svc.v1.ICommandResult = {}) => ({
    ...at(id, epoch),
    commandResult: { commandId, attempt: 1, outcome: svc.v1.Outcome.SUCCEEDED, ...result },
  }),
  inventory: (id: string, epoch: number, inventory: svc.v1.IInventory) => ({ ...at(id, epoch), inventory }),
}

/** Follows what is sent to a gateway: the messages so far, in order. */
export async function edgeMessages(bus: Bus, node: string): Promise<svc.v1.EdgeMessage[]> {
  const messages: svc.v1.EdgeMessage[] = []
  await bus.subscribe(names.edge(node), (payload) => void messages.push(svc.v1.EdgeMessage.decode(payload)))
  return messages
}

/** The frames among them. */
export const framesIn = (messages: readonly svc.v1.EdgeMessage[]): svc.v1.Envelope[] =>
  messages.flatMap((message) =>
    message.deliver?.frame ? [svc.v1.Envelope.decode(message.deliver.frame)] : [],
  )

/** Waits until `check` is true, or says after 10 s that it never was. */
export async function eventually(check: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const until = Date.now() + 20_000
  while (!(await check())) {
    if (Date.now() > until) throw new Error(`never happened: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}
