import { releaseKey } from '@svc/proto'
import type { SigningKey } from '../commands/key-ring.ts'
import { readText } from '../launcher/whole-file.ts'

/**
 * Public keys as an operator names them: base64 of 32 bytes each, separated by commas or white space, or a file in which they stand so.
 * Throws when one of them is no key, or there is none: what is pinned wrongly must not be trusted less strictly.
 */
export async function pinnedKeys(named: string): Promise<SigningKey[]> {
  const text = isKey(words(named)[0] ?? '') ? named : await readText(named)
  if (text === undefined) throw new Error(`--release-key: neither a key nor a file: ${named}`)
  const keys = words(text)
  const wrong = keys.find((word) => !isKey(word))
  if (wrong !== undefined || keys.length === 0)
    throw new Error(`--release-key: not the base64 of 32 bytes: ${wrong ?? named}`)
  return keys.map((publicKey) => ({ keyId: releaseKey(publicKey).keyId, publicKey }))
}

const words = (text: string) => text.split(/[\s,]+/).filter(Boolean)

const isKey = (word: string): boolean => /^[A-Za-z0-9+/]{43}=$/.test(word)
