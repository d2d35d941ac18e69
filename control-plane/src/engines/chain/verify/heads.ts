import { createReadStream, statSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import type { KeyPair } from '../../../adapters/keys.ts'
import { plainArray } from '../../../db/array-literal.ts'
import { isSignedBy, type SignedHead } from '../head.ts'
import { type Finding, finding } from './finding.ts'
import type { Asked } from './row-shape.ts'

const Line = z.object({
  auditHead: z.object({
    kind: z.enum(['head', 'accepted']),
    partner: z.uuid(),
    seq: z.int().min(0),
    hash: z.string().regex(/^[0-9a-f]{64}$/),
    at: z.iso.datetime(),
    key: z.string(),
    signature: z.string(),
  }),
})

/** A file of heads or a log, as far as it is written now: what comes later, a snapshot of the database may not hold. */
export interface HeadsSource {
  path: string
  bytes: number
}

export const headsSource = (path: string): HeadsSource => ({ path, bytes: statSync(path).size })

/** Heads of these files, in their order; lines that hold none are passed over, as are those that a crash cut short. */
export async function* headsIn(sources: readonly HeadsSource[]): AsyncGenerator<SignedHead> {
  for (const { path, bytes } of sources) {
    if (bytes === 0) continue
    const input = createReadStream(path, { end: bytes - 1 })
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }))
      if (line.includes('"auditHead"')) {
        const head = parse(line)
        if (head) yield head
      }
  }
}

function parse(line: string): SignedHead | undefined {
  try {
    return Line.safeParse(JSON.parse(line.slice(line.indexOf('{')))).data?.auditHead
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** What the heads say of one chain. */
export interface Told {
  /** the last one that the chain agrees with, before any that it does not */
  agreed: number
  /** the first one that it does not */
  other: number | undefined
  /** the last one that it does not reach */
  beyond: number | undefined
}

export interface HeadsChecked {
  heads: number
  /** chains whose loss was accepted after a restore */
  accepted: { partner: string; seq: number; at: string }[]
  told: ReadonlyMap<string, Told>
  /** the furthest place of each chain that a head of ours tells of */
  upTo: ReadonlyMap<string, number>
}

export interface HeadsAsked {
  sources: readonly HeadsSource[]
  /** whose signatures count; empty: signatures are not looked at */
  keys: readonly Pick<KeyPair, 'id' | 'publicKey'>[]
  partner?: string | undefined
}

/** Whether one of these keys signed it; without keys nobody looks. */
export const isOurs = (head: SignedHead, keys: HeadsAsked['keys']): boolean =>
  keys.length === 0 || keys.some((key) => key.id === head.key && isSignedBy(head, key))

const batch = 1_000

/** Compares what was told of chains with what they are. */
export async function checkHeads(
  sql: Asked,
  { sources, keys, partner }: HeadsAsked,
  report: (found: Finding) => void,
): Promise<HeadsChecked> {
  const told = new Map<string, Told>()
  const upTo = new Map<string, number>()
  const accepted: SignedHead[] = []
  let heads = 0
  const ours = (head: SignedHead) => isOurs(head, keys)
  for await (const head of headsIn(sources)) if (head.kind === 'accepted' && ours(head)) accepted.push(head)

  /** Told before somebody accepted that it is lost. */
  const isLost = (head: SignedHead) =>
    accepted.some((line) => line.partner === head.partner && line.at > head.at && line.seq < head.seq)

  const compare = async (some: readonly SignedHead[]) => {
    const stored = await storedHashes(sql, some)
    for (const [at, head] of some.entries()) note(toldOf(told, head.partner), head, stored[at] ?? null)
  }
  const some: SignedHead[] = []
  for await (const head of headsIn(sources)) {
    if (partner !== undefined && head.partner !== partner) continue
    heads += 1
    const { partner: chain, seq, key, at } = head
    if (!ours(head)) report(finding('head_forged', { partner: chain, seq }, `key ${key}, told ${at}`))
    else {
      upTo.set(chain, Math.max(upTo.get(chain) ?? 0, seq))
      if (!isLost(head)) some.push(head)
    }
    if (some.length === batch) await compare(some.splice(0))
  }
  await compare(some)
  for (const [chain, { agreed, other, beyond }] of told) {
    if (other !== undefined) {
      const from = Math.min(agreed + 1, other)
      const where = { partner: chain, seq: from, toSeq: other }
      report(finding('chain_rewritten', where, `somewhere from ${from} to ${other}`))
    }
    const cut = beyond === undefined ? undefined : await truncated(sql, chain, beyond)
    if (cut) report(cut)
  }
  return {
    heads,
    accepted: accepted.map(({ partner: chain, seq, at }) => ({ partner: chain, seq, at })),
    told,
    upTo,
  }
}

/** Undefined where the chain goes on behind: then a seal is missing within it, which its walk tells. */
async function truncated(sql: Asked, partner: string, beyond: number): Promise<Finding | undefined> {
  const [last] = await sql<{ seq: number }[]>`
    select coalesce(max(s.seq), 0)::float8 as seq from svc.audit_seal s where s.partner = ${partner}`
  const from = (last?.seq ?? 0) + 1
  if (from > beyond) return undefined
  return finding('tail_truncated', { partner, seq: from, toSeq: beyond }, `${from} to ${beyond} are missing`)
}

function toldOf(told: Map<string, Told>, partner: string): Told {
  const known = told.get(partner)
  if (known) return known
  const made: Told = { agreed: 0, other: undefined, beyond: undefined }
  told.set(partner, made)
  return made
}

function note(chain: Told, { seq, hash }: SignedHead, stored: string | null): void {
  if (seq === 0) return
  if (stored === null) chain.beyond = Math.max(chain.beyond ?? 0, seq)
  else if (stored !== hash) chain.other = Math.min(chain.other ?? Number.POSITIVE_INFINITY, seq)
  else if (chain.other === undefined || seq < chain.other) chain.agreed = Math.max(chain.agreed, seq)
}

async function storedHashes(sql: Asked, heads: readonly SignedHead[]): Promise<(string | null)[]> {
  if (heads.length === 0) return []
  const rows = await sql<{ hash: string | null }[]>`
    select encode(s.hash, 'hex') as hash
    from unnest(${plainArray(heads.map(({ partner }) => partner))}::uuid[], ${plainArray(heads.map(({ seq }) => seq))}::bigint[])
      with ordinality as h (partner, seq, place)
    left join svc.audit_seal s on s.partner = h.partner and s.seq = h.seq order by h.place`
  return rows.map(({ hash }) => hash)
}
