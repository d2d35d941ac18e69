import type { svc } from '@svc/proto'
import type { SecurityLog } from '@svc/proto/log'
import { type Bus, type Entry, shardOf } from '@svc/proto/bus'
import { twoAgents } from '../engines/identity/watch.ts'
import type { UpdatePorts } from '../engines/updates/offer.ts'
import type { OfferPorts } from '../engines/work/offer.ts'
import type { WorkerDb } from '../kernel/db.ts'
import { together } from '../kernel/together.ts'
import type { Pipeline } from '../pipeline.ts'
import { answer } from './answer.ts'
import { applyBatch, type Outcome } from './apply.ts'
import { type Counters } from './counters.ts'
import { failureOf } from './failures.ts'
import { type Batch, decodeCarried, decodeEntries, type Item, type Mark } from './item.ts'
import { holdLease, type ShardLease } from './lease.ts'

export interface Log {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

export interface InboxDeps {
  db: WorkerDb
  ports: OfferPorts & UpdatePorts & { config: { pipeline: Pipeline } }
  log: Log
  counters: Counters
  security: SecurityLog
  /**
   * guards that a proof takes away: `epochs`, without which what is said on an epoch that is over counts, too; `copies`, without which
   * two agents may take turns as one device for ever
   */
  without?: ReadonlySet<string>
}

/** What reads the up-streams needs the whole bus. */
export interface StreamDeps extends InboxDeps {
  ports: InboxDeps['ports'] & { bus: Bus }
}

/** How often a batch is tried at once when transactions get into each other's way. */
const attempts = 5

interface Work {
  items: readonly Item[]
  marks: readonly Mark[]
  /** of the shard that the items were read from; absent: they were carried up */
  lease?: ShardLease
}

/**
 * Handles one read of one shard: decode, apply and commit, answer. Resolves once everything that can be applied is committed; only
 * then may the entries be acknowledged. What cannot be applied is found, told in the log, counted and left out.
 * @throws LeaseLost when the shard has another owner; whatever else went wrong with the world, then try again
 */
export async function handleEntries(
  deps: InboxDeps,
  lease: ShardLease,
  entries: readonly Entry[],
): Promise<void> {
  const { items, marks, rejects } = decodeEntries(lease.shard, entries)
  tellRejects(deps, rejects)
  await applyOrSplit(deps, { items, marks, lease })
}

/**
 * Handles batches that a gateway carried up itself, of any shards, as {@link handleEntries} does those of a stream; resolves with how
 * many items they held. Nobody's lease is held: meanwhile the owner of a shard may be applying entries of its stream, older ones too,
 * and a gateway that got no answer may be carrying the same again. Each of them says nothing that the other could undo: an epoch
 * does not fall, and one that has ended stays ended; on one epoch last contact and inventories only move forward by the time at
 * which the gateway received them; ended commands stay ended; watermarks rise.
 * @throws what went wrong with the world: nothing is lost when all of it is carried again
 */
export async function handleCarried(
  deps: InboxDeps,
  carried: readonly svc.v1.IShardBatch[],
): Promise<number> {
  const { items, marks, rejects } = decodeCarried(carried)
  tellRejects(deps, rejects)
  await applyOrSplit(deps, { items, marks })
  return items.length
}

function tellRejects({ counters, log }: InboxDeps, rejects: Batch['rejects']): void {
  for (const { reason, detail } of rejects) {
    counters.poison(reason)
    log.error({ reason, detail }, 'an item from a gateway was left out')
  }
}

/** One transaction; a batch that holds poison is halved, in order, until the poison stands alone. */
async function applyOrSplit(deps: InboxDeps, work: Work): Promise<void> {
  try {
    const outcome = await commit(deps, work)
    count(deps, work, outcome)
    tellCopies(deps, outcome)
    await answerSafely(deps, outcome)
  } catch (error) {
    if (failureOf(error) !== 'poison' || work.items.length === 0) throw error
    if (work.items.length === 1) return leaveOut(deps, work, error)
    const middle = Math.ceil(work.items.length / 2)
    await applyOrSplit(deps, { ...work, items: work.items.slice(0, middle), marks: [] })
    // The promise "complete through" holds only once the rest is in, too.
    await applyOrSplit(deps, { ...work, items: work.items.slice(middle) })
  }
}

function tellCopies({ security }: InboxDeps, { quarantined }: Outcome): void {
  for (const { deviceId } of quarantined) security('device.quarantined', twoAgents, { deviceId })
}

async function commit({ db, ports, without }: InboxDeps, { lease, ...batch }: Work): Promise<Outcome> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.tx(async (tx) => {
        const apply = () => applyBatch(tx, batch, ports.config.pipeline, without)
        if (!lease) return apply()
        const [, outcome] = await together(holdLease(tx, lease), apply())
        return outcome
      })
    } catch (error) {
      if (attempt === attempts || failureOf(error) !== 'again') throw error
    }
  }
}

async function leaveOut(deps: InboxDeps, work: Work, error: unknown): Promise<void> {
  const [item] = work.items
  const shard = item && shardOf(item.deviceId)
  deps.counters.poison('rejected')
  deps.log.error(
    { shard, deviceId: item?.deviceId, node: item?.node, kind: item?.up.body, err: error },
    'an item from a gateway was left out',
  )
  await applyOrSplit(deps, { ...work, items: [] })
}

/** The batch is committed: what is lost here is said or offered again, so it must not make the batch run twice. */
async function answerSafely({ db, ports, log }: InboxDeps, outcome: Outcome): Promise<void> {
  try {
    await answer(db, ports, outcome)
  } catch (error) {
    log.warn({ err: error }, 'answers to agents were lost; they will be made again')
  }
}

function count({ counters, security }: InboxDeps, work: Work, outcome: Outcome): void {
  for (const item of work.items) counters.item(item.up.body ?? 'unknown')
  if (work.items.length > 0)
    counters.committed((Date.now() - Math.min(...work.items.map((item) => item.receivedAtMs))) / 1_000)
  counters.commands(outcome.reports)
  for (const [name, number] of Object.entries(outcome.reports.counts)) counters.reports(name, number)
  for (const one of outcome.reports.disowned)
    security('command.disowned', 'a device was sent what nobody had signed for it', one)
  for (const { epoch } of outcome.refused)
    counters.refused(epoch === undefined ? 'unknown_device' : 'superseded')
}
