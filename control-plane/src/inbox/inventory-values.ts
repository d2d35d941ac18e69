import type { svc } from '@svc/proto'
import { storable } from '../db/array-literal.ts'

/** Whose rows they are. */
export interface Owner {
  deviceId: string
  partnerId: string
  orgId: string
}

/** One inventory of a device, with whom its rows belong to. */
export type Row = Owner & { collectedAtMs: number; payload: svc.v1.IInventory }

/** What a text column of `max` characters can hold of it; nothing said is null. */
export const text = (value: string | null | undefined, max = 255) =>
  value ? storable(value.slice(0, max)) : null
/** Counts of bytes beyond what a bigint holds are a broken agent's; the largest exact number stands for them. */
export const bytes = (value: number | null | undefined) => Math.min(value ?? 0, Number.MAX_SAFE_INTEGER)
/** As an integer column holds it. Zero is protobuf's way of saying nothing. */
export const number = (value: number | null | undefined) => (value ? Math.min(value, 2_147_483_647) : null)

/** The columns that every row of an inventory has. */
export const owner = ({ deviceId, partnerId, orgId, collectedAtMs }: Row) => ({
  device_id: deviceId,
  partner_id: partnerId,
  org_id: orgId,
  collected_at: new Date(collectedAtMs).toISOString(),
})
