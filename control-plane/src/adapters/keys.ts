import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

/** Keys that cannot be read or used. The message is one line that names the file. */
export class KeyError extends Error {
  override name = 'KeyError'
}

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

/** Written whole or not at all, readable by its owner alone; false when the name was taken by a process that was quicker. */
function writeOnce(path: string, text: string): boolean {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    throw new KeyError(`cannot make ${path} (KEYS_DIR): ${(error as Error).message}`, { cause: error })
  }
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft)
  }
}

const othersMayRead = 0o004

function readPrivate(path: string): string {
  try {
    if (statSync(path).mode & othersMayRead) throw new Error('everybody may read it: chmod o-r it')
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new KeyError(`cannot read ${path}: ${(error as Error).message}`, { cause: error })
  }
}

/** Of a folder that is not ours to change: mounted for reading alone, or another user's. Each key is looked at by itself. */
const notOurs = new Set(['EROFS', 'EPERM'])

function openFolder(dir: string) {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    closeToOthers(dir)
  } catch (error) {
    throw new KeyError(`cannot use ${dir} (KEYS_DIR): ${(error as Error).message}`, { cause: error })
  }
}

function closeToOthers(dir: string) {
  try {
    chmodSync(dir, 0o700)
  } catch (error) {
    if (!notOurs.has((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

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
  let lookedAt = Date.now()
  const [first] = pairs
  if (!first) throw new KeyError(`no ${purpose} keys in ${dir} (KEYS_DIR)`)
  const known = (id: string) => pairs.find((pair) => pair.id === id)
  const lookAgain = () => {
    if (Date.now() - lookedAt < lookAgainMs) return
    lookedAt = Date.now()
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

/** The key that secrets at rest are sealed under, with the id that sealed values carry. */
export interface MasterKey {
  id: string
  key: Buffer
}

const masterFile = (dir: string) => join(dir, 'master.key')

export const hasMasterKey = (dir: string) => existsSync(masterFile(dir))

/** Reads the master key, or makes it where there is none: 32 random bytes in hex. @throws KeyError */
export function openMasterKey(dir: string): MasterKey {
  openFolder(dir)
  const path = masterFile(dir)
  if (!existsSync(path)) writeOnce(path, `${randomBytes(32).toString('hex')}\n`)
  const text = readPrivate(path).trim()
  if (!/^[0-9a-f]{64}$/.test(text)) throw new KeyError(`${path} is not a master key (64 hex digits)`)
  const key = Buffer.from(text, 'hex')
  return { id: createHash('sha256').update('svc.master.v1\0').update(key).digest('hex').slice(0, 8), key }
}
