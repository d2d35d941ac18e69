import { createHash } from 'node:crypto'
import postgres from 'postgres'
import { modelCheck } from '../../../../../control-plane/test/harness/chain-model.ts'
import { type Accepted, commandRows, type Effect } from '../judge.ts'
import type { System } from '../system.ts'
import { until } from '../until.ts'
import type { Asked, Evidence, LedgerStep, Remembered, SendRecord } from './evidence.ts'
import { judge, type Verdict } from './verdict.ts'
import { statesIn } from './witness.ts'

/** Within this a worker that lives has sealed what was written (docs/decisions/0030), on a busy machine too. */
const sealedWithinMs = 15_000

/** What callers and devices know; the rest stands in Postgres. */
export interface Testimony {
  accepted: readonly Accepted[]
  asked?: readonly Asked[]
  effects: readonly Effect[]
  ledgers: readonly LedgerStep[]
  /** the devices that this is about; absent: all there are */
  devices?: ReadonlySet<string>
}

/** The invariants of every run, judged when all has come to rest. Asks Postgres as its superuser, and the product nothing. */
export async function check(system: System, testimony: Testimony): Promise<Verdict> {
  return judge(await gather(system, testimony))
}

async function gather(system: System, testimony: Testimony): Promise<Evidence> {
  const { sql } = system
  const { accepted, asked = [], effects, ledgers, devices } = testimony
  const unsealed = await restOfSeals(sql)
  const here = ({ deviceId }: { deviceId: string }) => devices?.has(deviceId) ?? true
  const rows = (await commandRows(sql)).filter(here)
  const ids = new Set(rows.map(({ id }) => id))
  const records = (await recordsIn(sql)).filter(here)
  return {
    accepted,
    asked,
    rows,
    effects,
    ledgers,
    states: (await statesIn(sql)).filter(({ commandId }) => ids.has(commandId)),
    records,
    remembered: await rememberedOf(sql, asked),
    brokenSeals: await brokenSeals(system),
    unsealed,
  }
}

/** Waits for what is sealed within seconds; how much was not. */
async function restOfSeals(sql: postgres.Sql): Promise<number> {
  let left = 0
  const sealed = async () => {
    left = (await sql`select from audit_unsealed`).length
    return left === 0
  }
  await until('the audit log is sealed', sealed, sealedWithinMs).catch((error: Error) => {
    if (left === 0) throw error // it could not be looked at
  })
  return left
}

const recordsIn = (sql: postgres.Sql): Promise<SendRecord[]> => sql<SendRecord[]>`
  select details ->> 'commandId' as command_id, resource_id as device_id, org_id from audit_log
  where action = 'device.command.send' and result = 'success'`

async function rememberedOf(sql: postgres.Sql, asked: readonly Asked[]): Promise<Remembered[]> {
  const keys = asked.flatMap(({ key }) => key ?? [])
  if (keys.length === 0) return []
  const byHash = new Map(keys.map((key) => [createHash('sha256').update(key).digest('hex'), key]))
  const rows = await sql<{ hash: string; answer: Buffer | null }[]>`
    select encode(key_hash, 'hex') as hash, answer from idempotency where not sealed`
  return rows.flatMap(({ hash, answer }) => {
    const key = byHash.get(hash)
    if (key === undefined) return []
    const said = answer && (JSON.parse(answer.toString()) as { id?: string })
    return [{ key, commandId: said?.id ?? null }]
  })
}

/** The model of the chains wants names as they are in SQL. */
async function brokenSeals({ environment }: System): Promise<string[]> {
  const sql = postgres(environment['DATABASE_URL'] ?? '', { max: 1, onnotice: () => undefined })
  try {
    return (await modelCheck(sql)).wrong
  } finally {
    await sql.end({ timeout: 5 })
  }
}
