import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { KeyError, openFolder, readPrivate, writeOnce } from './key-files.ts'

export { KeyError } from './key-files.ts'

/** An Ed25519 pair; `id` is a digest of the public key. */
export interface KeyPair {
  id: string
  privateKey: KeyObject
  publicKey: KeyObject
}

/** The pairs of one purpose: the newest signs, all verify. */
export interface KeySet {
  current(): KeyPair
  /** Looks again at the folder for an id that it does not know, so that a rotation needs no restart. */
  find(id: string): KeyPair | undefined
  all(): readonly KeyPair[]
}

/** Pairs of a purpose that stay: what the one before signed is still good. */
const livePairs = 2

const idOf = (publicKey: KeyObject) =>
  createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url')
    .slice(0, 16)

function readPair(path: string): KeyPair {
  const pem = readPrivate(path)
  try {
    const privateKey = createPrivateKey(pem)
    const publicKey = createPublicKey(privateKey)
    return { id: idOf(publicKey), privateKey, publicKey }
  } catch (error) {
    throw new KeyError(`${path} holds no private key`, { cause: error })
  }
}

/** Files of one purpose are `<purpose>-<n>.pem`; the highest number is the newest. */
const numbersOf = (dir: string, purpose: string) =>
  readdirSync(dir)
    .map((file) => new RegExp(`^${purpose}-(\\d+)\\.pem$`).exec(file)?.[1])
    .filter((number) => number !== undefined)
    .map(Number)
    .sort((a, b) => b - a)

const fileOf = (dir: string, purpose: string, number: number) => join(dir, `${purpose}-${number}.pem`)

function readSet(dir: string, purpose: string): KeyPair[] {
  return numbersOf(dir, purpose)
    .slice(0, livePairs)
    .map((number) => readPair(fileOf(dir, purpose, number)))
}

/** All pairs of a purpose that are there, newest first; makes none. @throws KeyError */
export const readKeys = (dir: string, purpose: string): KeyPair[] =>
  existsSync(dir) ? numbersOf(dir, purpose).map((number) => readPair(fileOf(dir, purpose, number))) : []

/** Makes a pair that becomes the purpose's newest; pairs beyond the two that live are removed. */
export function rotateKeys(dir: string, purpose: string): void {
  openFolder(dir)
  const numbers = numbersOf(dir, purpose)
  const { privateKey } = generateKeyPairSync('ed25519')
  writeOnce(
    fileOf(dir, purpose, (numbers[0] ?? 0) + 1),
    privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  )
  for (const number of numbers.slice(livePairs - 1)) rmSync(fileOf(dir, purpose, number), { force: true })
}

/** How often an unknown key id may send us to the disk: anyone can invent one. */
const lookAgainMs = 1_000

/** Opens the pairs of a purpose (`jwt`, `commands`) in KEYS_DIR; the first is made at first start. @throws KeyError */
export function openKeySet(dir: string, purpose: string): KeySet {
  openFolder(dir)
  if (numbersOf(dir, purpose).length === 0) rotateKeys(dir, purpose)
  let pairs = readSet(dir, purpose)
  let lookedAt = performance.now()
  const [first] = pairs
  if (!first) throw new KeyError(`no ${purpose} keys in ${dir} (KEYS_DIR)`)
  const known = (id: string) => pairs.find((pair) => pair.id === id)
  const lookAgain = () => {
    if (performance.now() - lookedAt < lookAgainMs) return
    lookedAt = performance.now()
    pairs = readSet(dir, purpose)
  }
  return {
    current: () => pairs[0] ?? first,
    all: () => pairs,
    find: (id) => {
      const pair = known(id)
      if (pair) return pair
      lookAgain()
      return known(id)
    },
  }
}
