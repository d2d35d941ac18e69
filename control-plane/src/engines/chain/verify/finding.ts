/** The chain of what belongs to no partner. */
export const systemChain = '00000000-0000-0000-0000-000000000000'

/** What can be wrong, and how it is told. */
export const findingKinds = {
  row_changed: 'the row is not what was sealed here, or the one before it was changed and sealed anew',
  row_removed: 'the row is gone',
  row_moved: 'the row was sealed at another place',
  row_exchanged: 'another row was sealed here',
  row_foreign: 'the row belongs to another partner',
  row_inserted: 'the row is in no chain and does not wait to be sealed',
  row_removed_unsealed: 'the row was written, and was gone before it was sealed',
  seal_changed: 'the seal was changed; its row is what was sealed',
  seals_removed: 'seals are missing',
  tail_truncated: 'the chain goes less far than was told of it',
  chain_rewritten: 'the chain is another than was told of it',
  head_forged: 'what was told of the chain was signed by no key of ours',
} as const
export type FindingKind = keyof typeof findingKinds

/** Something that should not be, and where. */
export interface Finding {
  kind: FindingKind
  /** {@link systemChain} for rows of the system itself */
  partner: string
  /** the first place in the chain that it concerns; null: none */
  seq: number | null
  /** the last one, where there are several */
  toSeq?: number
  rowId?: string
  /** one sentence */
  what: string
}

export const finding = (
  kind: FindingKind,
  where: Pick<Finding, 'partner' | 'seq' | 'toSeq' | 'rowId'>,
  more?: string,
): Finding => ({ kind, ...where, what: findingKinds[kind] + (more ? `: ${more}` : '') })

/** Keeps so many findings of each kind, so that many of one never hide another; the rest are counted. */
export class Findings {
  readonly kept: Finding[] = []
  count = 0
  readonly #most: number
  readonly #ofKind = new Map<FindingKind, number>()

  constructor(most: number) {
    this.#most = most
  }

  readonly add = (found: Finding): void => {
    this.count += 1
    const before = this.#ofKind.get(found.kind) ?? 0
    this.#ofKind.set(found.kind, before + 1)
    if (before < this.#most) this.kept.push(found)
  }
}
