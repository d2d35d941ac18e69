import type { MasterKey } from '../../adapters/master-keys.ts'
import { KeyError } from '../../adapters/key-files.ts'
import { SecretError, type SecretPlace } from '../../adapters/secrets.ts'
import { keyIdOf, open, seal } from './envelope.ts'

/** `announced`: may not be sealed under yet; `retiring`: opens what is left under it. */
export type KeyState = 'announced' | 'sealing' | 'retiring'

/** What the database knows of a key: the proof is a value that only this key opens. */
export interface KnownKey {
  keyId: string
  proof: Uint8Array
  state: KeyState
}

const placeOf = (id: string): SecretPlace => ({ table: 'sealing_keys', column: 'proof', row: id, org: null })
const proofText = 'this key opens what it sealed'

export const proofOf = (master: MasterKey): Buffer => seal(master, proofText, placeOf(master.id))

/** @throws KeyError where it is another key of the same id */
export function checkProof(master: MasterKey, { proof }: KnownKey): void {
  try {
    const sealed = Buffer.from(proof)
    keyIdOf(sealed, placeOf(master.id))
    open(master.key, sealed, placeOf(master.id))
  } catch (error) {
    if (!(error instanceof SecretError)) throw error
    throw new KeyError(`master key ${master.id} does not open what this database has of it`, { cause: error })
  }
}
