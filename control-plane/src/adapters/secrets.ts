/** Where a sealed value lives. It opens nowhere else: not in another row, column or organization. */
export interface SecretPlace {
  table: string
  column: string
  /** the row's primary key */
  row: string
  /** null: the row belongs to no organization */
  org: string | null
}

/** Secrets at rest. Sealed values are `bytea`; reads through the API say `has…: true` only. */
export interface Secrets {
  seal(plain: string | Uint8Array, place: SecretPlace): Buffer
  /** @throws SecretError when it was sealed elsewhere, under another key, or changed: the operator is told, whoever catches it */
  open(sealed: Uint8Array, place: SecretPlace): Buffer
  /** A key of its own for one other use, such as `cursor`: derived, never stored. Another one after a rotation: ask at each use. */
  derive(use: string): Buffer
  /** Those of every master key that lives, {@link Secrets.derive}'s first: to check what was made before a rotation. */
  derivedAll(use: string): readonly Buffer[]
  /** id of the master key that this process seals under */
  readonly sealsUnder: string
}

export class SecretError extends Error {
  override name = 'SecretError'
}
