import { appendFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readText, writeWhole } from '../launcher/whole-file.ts'
import { type Identity, parseIdentity } from './identity.ts'

const secret = 0o600

/** A host's one identity in `<dir>/identity.json`. */
export async function loadIdentity(dir: string): Promise<Identity | undefined> {
  const text = await readText(join(dir, 'identity.json'))
  return text === undefined ? undefined : parseIdentity(text)
}

/** Written whole or not at all: half a token is a lost device. */
export async function saveIdentity(dir: string, identity: Identity): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  await writeWhole(join(dir, 'identity.json'), `${JSON.stringify(identity, null, 2)}\n`, secret)
}

/** A fleet's identities in `<dir>/identities.jsonl`, by the number of the simulated device. A torn last line is left out. */
export async function loadIdentities(dir: string): Promise<Map<number, Identity>> {
  const lines = ((await readText(join(dir, 'identities.jsonl'))) ?? '').split('\n')
  return new Map(lines.map(parseNumbered).filter((entry) => entry !== undefined))
}

function parseNumbered(line: string): [number, Identity] | undefined {
  try {
    const { number } = JSON.parse(line) as { number: unknown }
    return typeof number === 'number' ? [number, parseIdentity(line)] : undefined
  } catch {
    return undefined
  }
}

export async function appendIdentity(dir: string, number: number, identity: Identity): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  // The newline in front closes a line that a crash may have torn.
  await appendFile(join(dir, 'identities.jsonl'), `\n${JSON.stringify({ number, ...identity })}`, {
    mode: secret,
  })
}
