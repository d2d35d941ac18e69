import { unclaimable } from '../method/claim.ts'
import type { ResultFile } from '../method/contract.ts'
import { type Chosen, choose, type Named } from './choose.ts'
import { type Row, rowsOf } from './rows.ts'
import { groups } from './targets.ts'

/** `|` and line ends would end a cell. */
const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').trim()
const table = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [heads, heads.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')

const day = ({ startedAt }: ResultFile) => startedAt.slice(0, 10)
const list = (lines: readonly string[]) => lines.map((line) => `- ${line}`).join('\n')

const method = `A machine with other work on it says nothing about a wall clock. So each figure is a ratio to a peer that was measured in the same run, or processor time and bytes per unit.

- Servers, database and Redis among them, run on one core, what loads them on another. Ours and the peer take turns, at least five rounds each, after a warm-up of both; figures are medians, with the smallest and the largest in parentheses. A ratio is taken round by round.
- Both have the same number of connections, payloads, guarantees and settings. Postgres keeps \`fsync\` and \`synchronous_commit\` on.
- Latencies count from the time at which a request was meant to be sent, whatever became of those before it.
- Memory per connection is the difference of two numbers of connections, divided, after garbage was collected; what a process shares with others counts in proportion. It does not mind company, so several servers are looked at a time, each in a process of its own.
- A run is disturbed when the load average before it was over 0.3, when the load client’s core was over 85 % busy, or when other processes worked meanwhile. Nothing is claimed from a disturbed run, nor from a quick one.`

const heads = [
  '#',
  'figure',
  'seen',
  'beside the peer',
  'target',
  'verdict',
  'limited by',
  'what would reach it',
]
const cells = (row: Row): string[] => [
  row.id,
  row.figure,
  row.seen,
  row.ratio,
  row.target,
  row.verdict,
  row.limitedBy,
  row.wouldReach,
]

/** What the page begins with: how much of it is claimed. */
function standing(rows: readonly Row[]): string {
  const count = (verdict: Row['verdict']) => rows.filter((row) => row.verdict === verdict).length
  const [met, unmet] = [count('met'), count('not met')]
  if (met + unmet === 0)
    return 'Nothing has been claimed yet: there is no full run on a quiet machine among the results.'
  return `Of ${rows.length} figures ${met} ${met === 1 ? 'meets its target' : 'meet their targets'}, ${unmet} ${unmet === 1 ? 'does' : 'do'} not; of ${rows.length - met - unmet} nothing is claimed.`
}

/** Each round may have a reason of its own: they are in the result. */
const briefly = ([first = '', ...rest]: readonly string[]) =>
  rest.length === 0 ? first : `${first}, and ${rest.length} more such`

function runRow({ file, result }: Named): string[] {
  const { machine, peers } = result
  const rounds = Math.max(0, ...result.rounds.map(({ round }) => round))
  const gigabytes = (machine.memoryBytes / 2 ** 30).toFixed(0)
  const claimed = unclaimable(result)
  return [
    result.bench,
    day(result),
    result.commit,
    `${machine.processor}, ${machine.cores} cores, ${gigabytes} GB, Linux ${machine.kernel}, Node ${machine.node}`,
    `${rounds} rounds of ${[...new Set(result.rounds.map(({ side }) => side))].join(', ')}; ${result.seconds} s`,
    claimed.length === 0 ? 'yes' : `no: ${briefly(claimed)}`,
    [
      `\`${file}\``,
      ...peers.filter(({ skipped }) => skipped !== undefined).map(({ name }) => `without ${name}`),
    ].join(', '),
  ]
}

function runs(chosen: readonly Chosen[]): string {
  const taken = chosen.flatMap(({ run }) => run ?? [])
  if (taken.length === 0) return 'There are no full runs yet.'
  return table(['bench', 'date', 'commit', 'machine', 'what ran', 'claimed', 'result'], taken.map(runRow))
}

function passedOver(chosen: readonly Chosen[]): string {
  const lines = chosen.flatMap(({ passedOver }) =>
    passedOver.map(({ file, result }) => `\`${file}\`: ${briefly(unclaimable(result))}`),
  )
  return lines.length === 0 ? '' : `\n\nNothing is taken from these:\n\n${list(lines)}`
}

function peers(chosen: readonly Chosen[]): string {
  const rows = chosen.flatMap(({ bench, run }) =>
    (run?.result.peers ?? []).map(({ name, version, configuration, skipped }) => [
      bench,
      name,
      version ?? (skipped === undefined ? 'not told' : `did not run: ${skipped}`),
      configuration,
    ]),
  )
  return rows.length === 0 ? 'None has run yet.' : table(['bench', 'peer', 'version', 'configuration'], rows)
}

/** `docs/performance.md`: the same for the same results, whatever the day. */
export function pageOf(results: readonly Named[]): string {
  const chosen = choose(results)
  const sections = groups.map(({ name, targets }) => ({
    name,
    rows: targets.flatMap((target) => rowsOf(target, chosen)),
  }))
  const tables = sections.map(({ name, rows }) => `### ${name}\n\n${table(heads, rows.map(cells))}`)
  return `${[
    '# Performance',
    'Made by `npm run bench -- report` from what `npm run bench -- NAME` left in `bench/results/`; not written by hand.',
    standing(sections.flatMap(({ rows }) => rows)),
    '## Figures',
    ...tables,
    '## Method',
    method,
    '## Runs',
    runs(chosen) + passedOver(chosen),
    '## Peers',
    peers(chosen),
  ].join('\n\n')}\n`
}
