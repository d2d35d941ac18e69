import { type HeadsAsked, type HeadsChecked, headsIn, headsSource, isOurs } from './heads.ts'
import type { Asked } from './row-shape.ts'

/** The end of a chain that is beyond every head that was given: somebody who makes it anew would not be seen. */
export interface Untold {
  partner: string
  /** the first seal that no head tells of */
  seq: number
  /** the last one, where the chain ends */
  toSeq: number
}

/** Files of heads or logs, whose signatures in them count, and what was read of them before. */
interface Sourced extends Pick<HeadsAsked, 'keys'>, Pick<HeadsChecked, 'upTo'> {
  paths: readonly string[]
}

/**
 * What of chains no head tells of: the heads that were given are older, or not all of them, or somebody keeps them from being told. What
 * the database is about to tell does not count.
 *
 * @param ends where chains end in the snapshot, by partner
 */
export async function untoldOf(
  sql: Asked,
  ends: ReadonlyMap<string, number>,
  { paths, keys, upTo: before }: Sourced,
): Promise<Untold[]> {
  const told = new Map(before)
  const isNews = (partner: string, seq: number) => ends.has(partner) && seq > (told.get(partner) ?? 0)
  const owed = await sql<{ partner: string; seq: number }[]>`
    select h.partner, max(h.seq)::float8 as seq from svc.audit_heads_owed h group by h.partner`
  for (const { partner, seq } of owed) if (isNews(partner, seq)) told.set(partner, seq)
  // As the files are now: what is told and not owed any more has been in them since before the snapshot.
  // Whose signature was looked at before is no news.
  for await (const head of headsIn(paths.map(headsSource)))
    if (isNews(head.partner, head.seq) && isOurs(head, keys)) told.set(head.partner, head.seq)
  return [...ends].flatMap(([partner, toSeq]) => {
    const upTo = told.get(partner) ?? 0
    return upTo < toSeq ? [{ partner, seq: upTo + 1, toSeq }] : []
  })
}
