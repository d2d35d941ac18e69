import { crc32 } from 'node:zlib'
import type { Change, Entry } from './ledger.ts'

/**
 * One change = one line: CRC-32 of the JSON in hex, a space, the JSON, a newline; bytes as base64. A line that a crash or a full
 * disk cut short does not match its sum and is skipped, wherever it stands.
 */
export function toLine(change: Change): string {
  const json = JSON.stringify(portable(change))
  return `${sumOf(json)} ${json}\n`
}

/** Undefined when the line is damaged. */
export function fromLine(line: string): Change | undefined {
  const json = line.slice(9)
  if (line.slice(0, 9) !== `${sumOf(json)} `) return undefined
  return JSON.parse(json, (key, value: unknown) =>
    (key === 'body' || key === 'result') && typeof value === 'string' ? Buffer.from(value, 'base64') : value,
  ) as Change
}

const sumOf = (json: string) => crc32(json).toString(16).padStart(8, '0')

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

function portable(change: Change): object {
  if (change.state === 'received') return { ...change, body: base64(change.body) }
  return change.state === 'finished' ? { ...change, result: base64(change.result) } : change
}

/** The fewest changes that lead to this entry again. */
export function changesOf(entry: Entry, seq: number): Change[] {
  const { id, state, attempt, expiresAtMs, body = new Uint8Array(), startedAtMs, result } = entry
  const changes: Change[] = [{ state: 'received', id, body, attempt, seq, expiresAtMs }]
  if (state === 'started') changes.push({ state, id, atMs: startedAtMs ?? 0 })
  if (result) changes.push({ state: 'finished', id, result })
  if (state === 'acked') changes.push({ state, id })
  return changes
}
