import { hkdfSync } from 'node:crypto'
import type { MasterKey } from '../../adapters/master-keys.ts'
import { SecretError, type SecretPlace, type Secrets } from '../../adapters/secrets.ts'
import { keyIdOf, nameOf, open, seal } from './envelope.ts'

/** A value that did not open: what the operator is told. */
export type Unreadable = (error: SecretError, place: SecretPlace) => void

/** The master keys of one process. It seals under one and opens under all; which one is the database's to say. */
export class Keyring implements Secrets {
  readonly #keys = new Map<string, MasterKey>()
  readonly #derived = new Map<string, readonly Buffer[]>()
  /** told of each value that does not open */
  onUnreadable: Unreadable = () => undefined
  #sealing: MasterKey
  /** values that did not open, by `table.column`, since the process started */
  readonly unreadable = new Map<string, number>()

  constructor(sealing: MasterKey) {
    this.#sealing = sealing
    this.#keys.set(sealing.id, sealing)
  }

  get sealsUnder(): string {
    return this.#sealing.id
  }

  get keys(): readonly MasterKey[] {
    return [...this.#keys.values()]
  }

  /** From now on these open, and the one of this id seals, where it is among them: otherwise what sealed goes on. */
  hold(keys: readonly MasterKey[], sealing: string): void {
    const next = keys.find(({ id }) => id === sealing) ?? this.#sealing
    this.#keys.clear()
    for (const key of [next, ...keys]) this.#keys.set(key.id, key)
    this.#sealing = next
    this.#derived.clear()
  }

  seal(plain: string | Uint8Array, place: SecretPlace): Buffer {
    return seal(this.#sealing, plain, place)
  }

  open(bytes: Uint8Array, place: SecretPlace): Buffer {
    try {
      const sealed = Buffer.from(bytes)
      const id = keyIdOf(sealed, place)
      const master = this.#keys.get(id)
      if (!master)
        throw new SecretError(`sealed under key ${id}, which is not in KEYS_DIR (${nameOf(place)})`)
      return open(master.key, sealed, place)
    } catch (error) {
      if (error instanceof SecretError) this.#count(error, place)
      throw error
    }
  }

  derive(use: string): Buffer {
    const [first] = this.derivedAll(use)
    if (!first) throw new Error('a ring has a key')
    return first
  }

  derivedAll(use: string): readonly Buffer[] {
    const known = this.#derived.get(use)
    if (known) return known
    const made = [...this.#keys.values()].map(({ key }) =>
      Buffer.from(hkdfSync('sha256', key, '', `svc.${use}.v1`, 32)),
    )
    this.#derived.set(use, made)
    return made
  }

  #count(error: SecretError, place: SecretPlace): void {
    const where = `${place.table}.${place.column}`
    this.unreadable.set(where, (this.unreadable.get(where) ?? 0) + 1)
    this.onUnreadable(error, place)
  }
}
