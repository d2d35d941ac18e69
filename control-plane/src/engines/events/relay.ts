import { plainArray } from '../../db/array-literal.ts'
import type { WorkerDb } from '../../kernel/db.ts'
import type { Db } from '../../kernel/tenancy.ts'
import type { EventType } from './catalogue.ts'

/** An event on its way out. `id` is stable: whoever gets it twice knows. */
export interface OutgoingEvent {
  id: string
  type: EventType
  subjectId: string
  partnerId: string
  orgId: string | null
  payload: Record<string, unknown>
  at: Date
}

/** Somebody who wants to know. Events of one subject come in order; each comes at least once. */
export interface Subscriber {
  name: string
  types: readonly EventType[] | 'all'
  /** @throws when the event could not be taken: it and what follows of its subject come again */
  receive(event: OutgoingEvent): Promise<void>
}

interface RelayDeps {
  db: WorkerDb
  subscribers: readonly Subscriber[]
  log: { warn(details: object, message: string): void }
}

/**
 * Hands what stands in the outbox to its subscribers, oldest first, until nothing is left. Unrelayed rows are found by their own
 * index, never by a position: rows become visible in another order than they were numbered in. One run at a time (leased job).
 */
export async function relayEvents(deps: RelayDeps, batch: number): Promise<void> {
  const stuck = new Set<string>() // subjects whose next event somebody could not take
  for (;;) {
    const events = await selectOwed(deps.db, batch, stuck)
    const relayed = await relayAll(deps, events, stuck)
    if (relayed.length > 0) await deps.db.tx((tx) => markRelayed(tx, relayed))
    if (events.length < batch) return
  }
}

async function relayAll(
  deps: RelayDeps,
  events: readonly OutgoingEvent[],
  stuck: Set<string>,
): Promise<string[]> {
  const relayed: string[] = []
  for (const event of events) {
    if (stuck.has(event.subjectId)) continue
    if (await relayOne(deps, event)) relayed.push(event.id)
    else stuck.add(event.subjectId)
  }
  return relayed
}

async function relayOne({ subscribers, log }: RelayDeps, event: OutgoingEvent): Promise<boolean> {
  for (const subscriber of subscribers) {
    if (subscriber.types !== 'all' && !subscriber.types.includes(event.type)) continue
    try {
      await subscriber.receive(event)
    } catch (error) {
      log.warn(
        { subscriber: subscriber.name, event: event.id, type: event.type, err: error },
        'an event was not taken',
      )
      return false
    }
  }
  return true
}

const selectOwed = (db: Db, batch: number, stuck: ReadonlySet<string>): Promise<OutgoingEvent[]> =>
  db.rows<OutgoingEvent>`
    select o.id, o.type, o.subject_id, o.partner_id, o.org_id, o.payload, o.at from outbox o
    where o.relayed_at is null and o.subject_id <> all(${plainArray([...stuck])}::uuid[])
    order by o.at, o.id limit ${batch}`

const markRelayed = (tx: Db, ids: readonly string[]): Promise<number> =>
  tx.run`update outbox o set relayed_at = now() where o.id = any(${plainArray(ids)}::uuid[])`
