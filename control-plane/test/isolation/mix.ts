import type { Database } from '../../src/adapters/postgres.ts'
import { type Disturber, disturbances } from './disturbances.ts'
import type { Reader } from './readers.ts'
import { flawOf, reads } from './reads.ts'

export interface Mix extends Disturber {
  readers: readonly Reader[]
  /** of the API, with its two connections */
  pool: Database
  /** reads that are to be answered */
  count: number
  /** a flaw with which it is over: nothing more is looked for */
  until?: RegExp | undefined
}

/** What came of it. */
export interface Outcome {
  /** reads that were answered, by kind */
  read: Record<string, number>
  /** reads that were told to come again: an answer that shows nothing */
  unanswered: number
  /** disturbances that were seen to happen, by kind */
  disturbed: Record<string, number>
  /** looks at the bare connections between two requests */
  looks: number
  /** whatever was seen that must not be; empty: nothing was */
  flaws: string[]
}

const parallel = 16
/** One disturbance for each so many reads; and a look. */
const [readsPerDisturbance, readsPerLook] = [3, 15]

/** A prime: going on by it meets each place. */
const stride = 7_919

/** Names in the proportion of their shares, spread so that each kind meets each other. */
function inTurn(kinds: Record<string, { share: number }>): (n: number) => string {
  const wheel = Object.entries(kinds).flatMap(([name, { share }]) => Array<string>(share).fill(name))
  return (n) => wheel[(n * stride) % wheel.length] ?? ''
}

const nextRead = inTurn(reads)
const nextDisturbance = inTurn(disturbances)

/**
 * A connection nobody uses: no scope is set on it, and so it shows nothing. Two at once, so that the whole pool is looked at.
 */
async function look(pool: Database): Promise<string[]> {
  const once = () =>
    pool<{ scope: string; seen: number }[]>`
      select coalesce(current_setting('app.scope', true), '') as scope, (select count(*)::int from devices) as seen`.catch(
      (error: { code?: string }) => {
        if (error.code === '25P02')
          return [{ scope: 'of a transaction that failed and is not over', seen: 0 }]
        return [] // it was ended, or took too long: then there was nothing to see
      },
    )
  const rows = (await Promise.all([once(), once()])).flat()
  return rows
    .filter(({ scope, seen }) => scope !== '' || seen > 0)
    .map(({ scope, seen }) => `on a free connection: scope ${scope}, ${seen} devices in sight`)
}

const add = (counts: Record<string, number>, name: string) => {
  counts[name] = (counts[name] ?? 0) + 1
}

/** Many readers at once, each read in the name of another, and what disturbs in between. Ends when so many reads were answered, or what was looked for is seen. */
export async function mix({ readers, pool, count, until, ...by }: Mix): Promise<Outcome> {
  const outcome: Outcome = { read: {}, unanswered: 0, disturbed: {}, looks: 0, flaws: [] }
  let [tries, answered, disturbed] = [0, 0, 0]
  // Another one for each turn of the wheel, so that everybody comes to do everything.
  const reader = (n: number, turn: number) =>
    readers[(n * 37 + Math.floor(n / turn)) % readers.length] as Reader

  const read = async (n: number) => {
    const name = nextRead(n)
    const kind = reads[name]
    if (!kind) throw new Error(`no such read: ${name}`)
    const who = reader(n, 100)
    const path = kind.path(who, reader(n + 1 + (n % 3), 100), n)
    const heard = await by.asker.ask(who, { method: 'GET', path })
    if (heard.status === 503 || heard.status === 0) return void outcome.unanswered++
    const flaw = heard.status === kind.status ? flawOf(kind, heard, who) : `${heard.status}: ${heard.text}`
    if (flaw !== undefined) outcome.flaws.push(`${name}: ${flaw}`)
    answered++
    add(outcome.read, name)
  }
  const disturb = async (n: number) => {
    const name = nextDisturbance(n)
    const kind = disturbances[name]
    if (!kind) throw new Error(`no such disturbance: ${name}`)
    const { status, text } = await kind.make(by, reader(n, 1_000), reader(n + 1, 1_000), n)
    const happened = (kind.status ?? status) === status && text.includes(kind.says ?? '')
    if (happened) add(outcome.disturbed, name)
  }
  const over = () =>
    answered >= count || (until !== undefined && outcome.flaws.some((flaw) => until.test(flaw)))
  const worker = async () => {
    while (!over()) {
      const n = tries++
      if (n > 3 * count + 1_000) throw new Error(`of ${n} reads only ${answered} were answered`)
      if (n % readsPerDisturbance === 0) await disturb(disturbed++)
      if (n % readsPerLook === 0) {
        outcome.flaws.push(...(await look(pool)))
        outcome.looks++
      }
      await read(n)
    }
  }
  await Promise.all(Array.from({ length: parallel }, worker))
  return outcome
}
