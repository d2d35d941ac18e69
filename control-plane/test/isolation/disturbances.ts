import type { Database } from '../../src/adapters/postgres.ts'
import type { Asker, Heard, Question } from './asker.ts'
import type { Reader } from './readers.ts'
import { endings } from './routes.ts'

/** ms that a statement may take here; above what any takes that is not made to wait. */
export const statementTimeoutMs = 250
/** ms within which a request is answered here. */
export const answerWithinMs = 500
/** Statements that take too long together, but not each. */
const overdue = { waitMs: 180, times: 4 }

export interface Disturber {
  asker: Asker
  owner: Database
}

/** Something between the reads that leaves a connection in a state that the next one must not notice. */
export interface Disturbance {
  /** how many of a thousand are of this kind */
  share: number
  make: (by: Disturber, reader: Reader, other: Reader, n: number) => Promise<Heard>
  /** the status by which it is known to have happened, where there is one */
  status?: number
  /** what its answer says, where the status could be another's */
  says?: string
}

const asked =
  (question: (reader: Reader, other: Reader, n: number) => Question): Disturbance['make'] =>
  ({ asker }, reader, other, n) =>
    asker.ask(reader, question(reader, other, n))

/** Cut off after 0 to 4 ms: before it is read, while it waits for a connection, in the midst of it, or just before its answer. */
const cut =
  (question: (reader: Reader, n: number) => Question): Disturbance['make'] =>
  ({ asker }, reader, _other, n) =>
    asker.cut(reader, question(reader, n), n % 5)

const work = (ends: string, slow: { waitMs?: number; times?: number } = {}): Question => ({
  method: 'POST',
  path: '/bare/work',
  body: { ends, ...slow },
})
const get = (path: string): Question => ({ method: 'GET', path })

/** One connection of the API is taken away from it in the midst of whatever it does. */
async function endConnection({ owner }: Disturber): Promise<Heard> {
  const [ended] = await owner<{ done: boolean }[]>`
    select pg_terminate_backend(pid) as done from pg_stat_activity
    where datname = current_database() and application_name = 'svc-api' order by random() limit 1`
  return { status: ended?.done ? 200 : 0, text: '' }
}

export const disturbances: Record<string, Disturbance> = {
  'a list is cut off': { share: 200, make: cut(() => get('/devices?limit=20')) },
  'a look around is cut off': { share: 100, make: cut(() => get('/bare/devices')) },
  'a slow read is cut off': { share: 30, make: cut(() => get('/bare/devices?waitMs=30')) },
  'a write is cut off': { share: 100, make: cut(() => work('well')) },
  'a slow write is cut off': {
    share: 30,
    make: cut((_reader, n) => work(endings[n % 2] ?? 'well', { waitMs: 30 })),
  },
  'a write fails': {
    share: 250,
    make: asked((_reader, _other, n) => work(endings[n % endings.length] ?? 'well')),
  },
  'a write is done': { share: 100, make: asked(() => work('well')), status: 200 },
  'a name that is taken is refused': {
    share: 80,
    make: asked(({ orgId, siteName: name }) => ({
      method: 'POST',
      path: '/orgs/sites',
      body: { orgId, name },
    })),
    status: 409,
  },
  'a write to somebody else’s device is refused': {
    share: 80,
    make: asked((_reader, { deviceIds }) => ({ method: 'DELETE', path: `/devices/${deviceIds[0]}` })),
    status: 404,
  },
  'a read outlasts the statement’s time': {
    share: 8,
    make: asked(() => get('/bare/devices?waitMs=5000')),
    status: 503,
    says: 'longer than the database may work on one',
  },
  'a read outlasts the request’s time': {
    share: 8,
    make: asked(() => get(`/bare/devices?waitMs=${overdue.waitMs}&times=${overdue.times}`)),
    status: 503,
    says: 'longer than it may',
  },
  'a write outlasts the request’s time': {
    share: 8,
    make: asked(() => work('well', overdue)),
    status: 503,
    says: 'longer than it may',
  },
  'a connection is lost': { share: 6, make: endConnection, status: 200 },
}
