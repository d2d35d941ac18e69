import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { jobSchemaFlaw, jobSchemaVersion } from '../../src/db/job-schema.ts'
import { prepareSchema } from '../../src/db/prepare.ts'
import { databaseForFile } from '../harness/database.ts'

const database = await databaseForFile()
const sql = postgres(database.url, { onnotice: () => undefined })
afterAll(() => sql.end())

const as = <T>(role: string, statement: string) =>
  sql.begin(async (tx) => {
    await tx.unsafe(`set local role ${role}`)
    return tx.unsafe(statement) as unknown as T
  })

test('the job queue’s migrations are all applied, and we know which is the last', async () => {
  const { migrations } = (await import('graphile-worker/dist/generated/sql.js')) as {
    migrations: Record<string, string>
  }
  expect(Object.keys(migrations)).toHaveLength(jobSchemaVersion)
  expect(await jobSchemaFlaw(sql)).toBeUndefined()
})

test('on its tables the worker alone has rights, and on its functions for what it does', async () => {
  const tables = await sql`
    select c.relname, g.grantee::regrole::text as role, g.privilege_type from pg_class c, aclexplode(c.relacl) g
    where c.relnamespace = 'graphile_worker'::regnamespace and g.grantee <> c.relowner and c.relname <> 'migrations'
      and (g.grantee = 0 or g.grantee::regrole::text <> 'svc_worker')`
  expect([...tables]).toEqual([])
  const routines = await sql`
    select p.proname as name, g.grantee::regrole::text as role from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g
    where p.pronamespace = 'graphile_worker'::regnamespace and g.grantee <> p.proowner`
  expect([...routines]).toEqual([{ name: 'force_unlock_workers', role: 'svc_worker' }])
})

test('its tables belong to an owner that is nobody’s login, and let in nobody whom no policy names', async () => {
  const open = await sql`
    select relname, relowner::regrole::text as owner from pg_class where relnamespace = 'graphile_worker'::regnamespace
      and relkind = 'r' and relname <> 'migrations' and (not relrowsecurity or relowner <> 'svc_owner'::regrole)`
  expect([...open]).toEqual([])
})

test.each(['_private_jobs', '_private_job_queues', '_private_tasks', 'jobs'])(
  'asked for %s, the API is refused',
  async (table) => {
    await expect(as('svc_app', `select * from graphile_worker.${table}`)).rejects.toMatchObject({
      code: '42501',
    })
  },
)

test('the API may enqueue, by way of the function alone', async () => {
  await as('svc_worker', `insert into svc.job_tasks values ('x', 1)`)
  await as('svc_app', `select svc.enqueue('x', '{"a": 1}')`)
  expect(await as('svc_worker', 'select payload from graphile_worker._private_jobs')).toMatchObject([
    { payload: { a: 1 } },
  ])
  const direct = as('svc_app', `select graphile_worker.add_job('x')`)
  await expect(direct).rejects.toMatchObject({ code: '42501' })
})

test('without AUTO_MIGRATE a start is refused while the queue’s migrations are pending', async () => {
  const start = (autoMigrate: boolean) =>
    prepareSchema({
      databaseUrl: database.url,
      autoMigrate,
      migrationsDir: undefined,
      onApplied: () => undefined,
    })
  await start(false)
  await sql`delete from graphile_worker.migrations where id = ${jobSchemaVersion}`
  await expect(start(false)).rejects.toThrow(
    `the job queue’s schema is at ${jobSchemaVersion - 1} of ${jobSchemaVersion}: apply it, or set AUTO_MIGRATE=true`,
  )
  await start(true)
  expect(await jobSchemaFlaw(sql)).toBeUndefined()
})
