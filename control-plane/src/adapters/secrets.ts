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
  /** @throws SecretError when it was sealed elsewhere, under another key, or changed */
  open(sealed: Uint8Array, place: SecretPlace): Buffer
  /** A key of its own for one other use, such as `cursor`: derived, never stored. */
  derive(use: string): Buffer
}

export class SecretError extends Error {
  override name = 'SecretError'
}
