import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { KeyError, openFolder, readPrivate, writeOnce } from './key-files.ts'

/** A key that secrets at rest are sealed under, with the id that sealed values carry: a digest of it. */
export interface MasterKey {
  id: string
  key: Buffer
}

/** The first one of a folder; those that were added are `master-<id>.key`. */
const firstFile = 'master.key'
export const masterFile = (id: string): string => `master-${id}.key`
const isMasterFile = (name: string) => name === firstFile || /^master-[0-9a-f]{8}\.key$/.test(name)

const masterOf = (key: Buffer): MasterKey => ({
  id: createHash('sha256').update('svc.master.v1\0').update(key).digest('hex').slice(0, 8),
  key,
})

function readMaster(dir: string, name: string): MasterKey {
  const path = join(dir, name)
  const text = readPrivate(path).trim()
  if (!/^[0-9a-f]{64}$/.test(text)) throw new KeyError(`${path} is not a master key (64 hex digits)`)
  const master = masterOf(Buffer.from(text, 'hex'))
  if (name !== firstFile && name !== masterFile(master.id))
    throw new KeyError(`${path} holds master key ${master.id}: it was changed or renamed`)
  return master
}

/** The master keys of KEYS_DIR, by id; none where there is none. @throws KeyError where one cannot be used */
export function readMasterKeys(dir: string): Map<string, MasterKey> {
  if (!existsSync(dir)) return new Map()
  const keys = readdirSync(dir)
    .filter(isMasterFile)
    .map((name) => readMaster(dir, name))
  return new Map(keys.map((key) => [key.id, key]))
}

/** Reads the first master key, or makes it where there is none: 32 random bytes in hex. @throws KeyError */
export function openMasterKey(dir: string): MasterKey {
  openFolder(dir)
  if (!existsSync(join(dir, firstFile)))
    writeOnce(join(dir, firstFile), `${randomBytes(32).toString('hex')}\n`)
  return readMaster(dir, firstFile)
}

/** Makes one more, which nothing is sealed under yet. @throws KeyError */
export function addMasterKey(dir: string): MasterKey {
  openFolder(dir)
  const master = masterOf(randomBytes(32))
  writeOnce(join(dir, masterFile(master.id)), `${master.key.toString('hex')}\n`)
  return master
}
