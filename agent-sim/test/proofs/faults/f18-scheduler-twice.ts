import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../system/harness/until.ts'
import { all, none } from '../verdict.ts'
import type { Fault } from './fault.ts'
import type { Scene } from './scene.ts'

const [first, second] = [0, 1]
/** Above what Postgres gives a transaction that stands idle, as one does whose process stands still. */
const takenOverWithinMs = 45_000
/** For whoever goes on to do what it had in hand. */
const lateMs = 3_000
/** Shorter than it stands still, so that others take its jobs over. */
const jobLeaseMs = 2_000
/** Not to be pruned away within a run, and nothing comes of it. */
const task = { name: 'prune', payload: { what: 'failed_jobs' } }

/**
 * The process that acts on what is due stands still: before its transaction is committed, then after that but before it has heard of
 * it; the other one goes on, and then it does. At last what is written of a moment is put back, as somebody late might write it.
 */
export const schedulerTwice: Fault = {
  id: 'F18',
  fault: 'scheduler runs twice',
  expected: 'each due moment is acted upon exactly once',
  variables: { JOB_LEASE_MS: String(jobLeaseMs) },
  plant: {
    guard: 'the unique key of a run: schedule and moment',
    noticed: /moments that were acted upon/,
  },
  run: async (scene) => {
    const { sql } = scene.system
    await installCounter(scene)
    const moments: string[] = []
    if (!scene.planted)
      for (const fate of ['withheld', 'unanswered'] as const) moments.push(await standStill(scene, fate))
    moments.push(await putBack(scene))
    const counts = await countsOf(scene)
    const [row] = await sql<{ jobs: number }[]>`
      select count(*)::int as jobs from schedules where last_run_at > now() - interval '30 seconds'`
    return [
      all('moments that were acted upon', moments.length, moments.filter((id) => counts.has(id)).length),
      none(
        'moments that were acted upon more than once',
        moments.filter((id) => (counts.get(id) ?? 0) > 1).map((id) => `${counts.get(id)} times`),
      ),
      {
        what: 'recurring jobs that go on',
        expected: 'some',
        seen: String(row?.jobs),
        pass: (row?.jobs ?? 0) > 0,
      },
    ]
  },
}

/** The first stands still as it commits, and the other is there alone. @returns what was due */
async function standStill(scene: Scene, fate: 'withheld' | 'unanswered'): Promise<string> {
  const { system, wires } = scene
  const [one, other] = [system.controlPlane(first), system.controlPlane(second)]
  const struck = wires.postgres.strike(/insert into schedule_runs/, fate)
  other.signal('SIGSTOP')
  scene.later(() => other.signal('SIGCONT'))
  const id = await due(scene)
  await struck
  one.signal('SIGSTOP')
  scene.later(() => one.signal('SIGCONT'))
  other.signal('SIGCONT')
  await until('it is acted upon', async () => (await countsOf(scene)).has(id), takenOverWithinMs)
  await sleep(2 * jobLeaseMs)
  one.signal('SIGCONT')
  wires.postgres.heal()
  await sleep(lateMs)
  return id
}

/** Acted upon once, it is made due again at the same moment. */
async function putBack(scene: Scene): Promise<string> {
  const { sql } = scene.system
  if (scene.planted) {
    await sql`alter table schedule_runs drop constraint schedule_runs_pkey`
    scene.later(async () => {
      await sql`delete from schedule_runs`
      await sql`alter table schedule_runs add primary key (schedule_id, due_at)`
    })
  }
  const id = await due(scene)
  await until('it is acted upon', async () => (await countsOf(scene)).has(id))
  const [{ dueAt } = { dueAt: new Date() }] = await sql<{ dueAt: Date }[]>`
    select due_at from schedule_runs where schedule_id = ${id} order by due_at limit 1`
  await sql`update schedule_entries set due_at = ${dueAt}, runs_left = null where id = ${id}`
  const passedOver = async () =>
    (await sql`select from schedule_entries where id = ${id} and due_at = ${dueAt}`).length === 0
  await until('it is passed over', passedOver)
  return id
}

/** Something that is due now, once. @returns its id */
async function due({ system: { sql, tenant } }: Scene): Promise<string> {
  const id = randomUUID()
  const at = new Date().toISOString()
  await sql`
    insert into schedule_entries (id, partner_id, org_id, key, task, payload, timing, misfire, due_at)
    select ${id}, partner_id, id, ${`proof:${id}`}, ${task.name}, ${sql.json(task.payload)},
      ${sql.json({ kind: 'once', at })}, 'once', ${at}
    from organizations where id = ${tenant.organizationId}`
  return id
}

/** The database itself notes what is put into the job queue, in the transaction that does so. */
async function installCounter(scene: Scene): Promise<void> {
  const { sql } = scene.system
  await sql.unsafe(`
    create table witness.enqueued (key text not null);
    create function witness.enqueue() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
    begin
      insert into witness.enqueued (key) values (new.key);
      return null;
    end $$;
    create trigger witness_enqueued after insert on graphile_worker._private_jobs
      for each row when (new.key like 'schedule:%') execute function witness.enqueue();`)
  scene.later(() => sql.unsafe('drop function witness.enqueue() cascade; drop table witness.enqueued'))
}

/** By schedule, how often it was put into the queue. */
async function countsOf({ system: { sql } }: Scene): Promise<Map<string, number>> {
  const rows = await sql<{ id: string; count: number }[]>`
    select split_part(key, ':', 2) as id, count(*)::int as count from witness.enqueued group by 1`
  return new Map(rows.map(({ id, count }) => [id, count]))
}
