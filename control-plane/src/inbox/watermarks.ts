import { plainArray, textArray } from '../db/array-literal.ts'
import type { Db } from '../kernel/tenancy.ts'
import type { Mark } from './item.ts'

/** Where one node's run of watermarks of one shard begins and ends in a batch, and where it was last broken, if it was. */
interface Run {
  shard: number
  node: string
  firstMs: number
  lastMs: number
  /** nobody was listening shortly before this */
  resumedMs: number | undefined
}

/** Marks of a batch by shard and node. Two further apart than `gapMs` break the run: it starts again with the second. */
export function runsOf(marks: readonly Mark[], gapMs: number): Run[] {
  const runs = new Map<string, Run>()
  for (const { shard, node, throughMs } of marks) {
    const key = `${shard} ${node}`
    const run = runs.get(key)
    if (!run) {
      runs.set(key, { shard, node, firstMs: throughMs, lastMs: throughMs, resumedMs: undefined })
    } else if (throughMs > run.lastMs) {
      if (throughMs - run.lastMs > gapMs) run.resumedMs = throughMs
      run.lastMs = throughMs
    }
  }
  return [...runs.values()].sort((a, b) => a.shard - b.shard || (a.node < b.node ? -1 : 1))
}

/**
 * Moves watermarks forward, never beyond the database's own time. In the transaction that applies what they promise to
 * be complete.
 */
export function writeWatermarks(db: Db, marks: readonly Mark[], gapMs: number): void {
  const runs = runsOf(marks, gapMs)
  if (runs.length === 0) return
  const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1000)
  db.later`
    insert into edge_watermarks as w (shard, node, since, through)
    select b.shard, b.node, least(to_timestamp(coalesce(b.resumed, b.first)), now()),
      least(to_timestamp(b.last), now())
    from unnest(${plainArray(runs.map((run) => run.shard))}::smallint[], ${textArray(runs.map((run) => run.node))}::text[],
      ${plainArray(runs.map((run) => seconds(run.firstMs)))}::float8[],
      ${plainArray(runs.map((run) => seconds(run.lastMs)))}::float8[],
      ${plainArray(runs.map((run) => seconds(run.resumedMs)))}::float8[]) as b (shard, node, first, last, resumed)
    on conflict (shard, node) do update set through = greatest(w.through, excluded.through),
      since = case when excluded.since > w.through + make_interval(secs => ${gapMs / 1000}::float8) then excluded.since
        else w.since end`
}
