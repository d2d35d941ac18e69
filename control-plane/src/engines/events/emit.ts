import { v7 as uuid } from 'uuid'
import type { DomainEvent } from '../../kernel/context.ts'
import type { Db } from '../../kernel/tenancy.ts'
import type { EventType } from './catalogue.ts'

/** An event whose type is in the catalogue. */
export interface Event extends DomainEvent {
  type: EventType
}

/** Writes outbox rows in this transaction, in this order and in one statement, with the commit at the latest: the events are true if and only if it commits. */
export function emitAll(db: Db, events: readonly Event[]): void {
  if (events.length === 0) return
  const rows = events.map((event) => ({
    id: uuid(),
    partner_id: event.partnerId,
    org_id: event.orgId,
    type: event.type,
    subject_id: event.subjectId,
    payload: event.payload,
  }))
  db.later`
    insert into outbox (id, partner_id, org_id, type, subject_id, payload)
    select e.id, e.partner_id, e.org_id, e.type, e.subject_id, e.payload
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
      as e (id uuid, partner_id uuid, org_id uuid, type text, subject_id uuid, payload jsonb)
    order by e.id`
}
