import type { Bench, Ground } from '../method/contract.ts'
import { watchLoop } from '../method/latency.ts'
import { pssBytes } from '../method/memory.ts'
import { Client } from './load/client.ts'
import { openLoad } from './load/open-loop.ts'
import { median, percentile } from './load/percentile.ts'
import { during } from './load/window.ts'
import { type Answered, Crowd, type Member } from './logins/crowd.ts'
import { figures, measures } from './logins/figures.ts'
import { fillPeople } from './logins/people.ts'
import { openStage, type Stage } from './stage/stage.ts'

/** Looks at `/health`, at times fixed before. */
const looksPerSecond = 50

/** `/health` at rest, and while a crowd logs in: half of it with right passwords, half as people who do not exist. */
export const logins: Bench = {
  name: 'logins',
  title: 'API: many logins at once',
  measures,
  figures,
  run,
}

async function run(ground: Ground): Promise<void> {
  const seconds = ground.quick ? 5 : 20
  const stage = await openStage(ground, { count: 1, tenants: 1, details: false })
  ground.progress('starting the API')
  // Each of the crowd comes from somewhere else: the load says from where, as a proxy would.
  const { pid } = await stage.startControlPlane('api', { TRUSTED_PROXIES: '127.0.0.1' })
  const people = await fillPeople(stage, Math.ceil(ground.scale / 2))
  const members = Array.from({ length: ground.scale }, (_, n): Member => {
    const body = people[n % people.length] ?? { email: '', password: '' }
    return { body, status: n % 2 === 0 ? 200 : 401 }
  })
  const crowd = new Crowd(stage.apiUrl, members)
  ground.afterwards(() => crowd.close())
  ground.progress('warming up')
  await looking(stage, pid, 2)
  await crowding(stage, pid, crowd, 2)
  for (let round = 1; round <= ground.rounds; round++) {
    ground.progress(`round ${round}: nobody logs in`)
    const idle = await looking(stage, pid, seconds)
    ground.saw('ours:idle', round, idle.seen, idle.clientBusy)
    ground.progress(`round ${round}: ${ground.scale} log in`)
    const busy = await crowding(stage, pid, crowd, seconds)
    ground.saw('ours:crowd', round, busy.seen, busy.clientBusy)
  }
}

/** How long `/health` takes meanwhile, and what the process holds at the end. */
async function looking({ apiUrl }: Stage, pid: number, seconds: number) {
  const client = new Client(apiUrl)
  try {
    const ask = () => client.ask(200, 'GET', '/health')
    const late = watchLoop()
    const { value, clientBusy } = await during({ server: pid }, () =>
      openLoad({ perSecond: looksPerSecond, seconds, ask }),
    )
    const seen = {
      'health p50': median(value),
      'health p99': percentile(value, 0.99),
      'health max': percentile(value, 1),
      'client late p99': late().p99,
      memory: pssBytes(pid),
    }
    return { seen, clientBusy }
  } finally {
    client.close()
  }
}

async function crowding(stage: Stage, pid: number, crowd: Crowd, seconds: number) {
  const over = new AbortController()
  await stage.sql`truncate audit_log`
  const answers = crowd.logIn(over.signal)
  // What goes wrong with the crowd is told by whoever waits for it, below.
  answers.catch(() => undefined)
  const { seen, clientBusy } = await looking(stage, pid, seconds).finally(() => over.abort())
  const answered = await answers
  await requireRows(stage, answered)
  const { right, wrong, toldToComeAgain, took } = answered
  const decided = right + wrong
  return {
    clientBusy,
    seen: {
      ...seen,
      'login p50': median(took),
      'login p99': percentile(took, 0.99),
      'logins answered': decided / seconds,
      'told to come again': (100 * toldToComeAgain) / (decided + toldToComeAgain),
    },
  }
}

/** Whoever was let in is on record, and so is whoever was not: a server that forgets under load is no fast one. */
async function requireRows({ sql }: Stage, { right, wrong }: Answered): Promise<void> {
  const [row] = await sql<{ success: number; failure: number }[]>`
    select count(*) filter (where result = 'success')::int as success, count(*) filter (where result = 'failure')::int as failure
    from audit_log where action = 'user.login'`
  if (row?.success !== right || row.failure !== wrong)
    throw new Error(
      `${right} were let in and ${wrong} were not; on record are ${row?.success} and ${row?.failure}`,
    )
}
