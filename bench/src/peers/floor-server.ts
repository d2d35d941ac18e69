import { randomBytes } from 'node:crypto'
import { type Presence, writePresence } from '../../../control-plane/src/inbox/presence.ts'
import type { Db } from '../../../control-plane/src/kernel/tenancy.ts'
import { openDatabase } from '../edge/devices.ts'
import { serveCalls } from '../wire/serve.ts'

/**
 * The floor of a heartbeat: a script that holds everything in its hands already and runs the product's own batched UPDATE over one
 * connection, as the superuser, with neither a gateway nor Redis nor row security in between.
 */
const batchSize = 1_000
let sql: ReturnType<typeof openDatabase> | undefined

const presence = (deviceId: string, epoch: number): Presence => ({
  deviceId,
  epoch,
  node: 'floor',
  from: 'floor',
  seenMs: Date.now(),
  atMs: Date.now(),
  connects: 0,
  connected: false,
  watchdogMs: undefined,
  said: true,
  watchdogs: false,
  triggers: [],
  metrics: { cpu: 12.5, ram: 43.25, disk: 61, uptime: 86_400 },
  reported: {},
  beat: undefined,
})

serveCalls({
  open: (url: string) => {
    sql = openDatabase(url)
  },
  /** Writes so many heartbeats, in turn over the devices; answers with how many rows it wrote. */
  write: async ({ deviceIds, count }: { deviceIds: string[]; count: number }) => {
    if (!sql) throw new Error('no database is open')
    const database = sql
    const rows = (query: TemplateStringsArray, ...values: never[]) => database(query, ...values)
    const db = { rows, sql: database } as unknown as Db
    // Above whatever an earlier call wrote.
    const epoch = Date.now() * 1000 + (randomBytes(1)[0] ?? 0)
    let written = 0
    for (let at = 0; at < count; at += batchSize) {
      const size = Math.min(batchSize, count - at, deviceIds.length)
      const ids = Array.from({ length: size }, (_, n) => deviceIds[(at + n) % deviceIds.length] ?? '').sort()
      const touched = await writePresence(
        db,
        ids.map((id) => presence(id, epoch)),
        { flapAfter: 5, flapWithinMs: 600_000 },
      )
      written += touched.size
    }
    return written
  },
})
