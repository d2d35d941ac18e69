import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import { systemClock } from '../clock.ts'
import { DiskLedger } from './disk.ts'

const writer = fileURLToPath(new URL('../../test/ledger-writer.ts', import.meta.url))
const dir = await mkdtemp(join(tmpdir(), 'ledger-crash-'))
afterAll(() => rm(dir, { recursive: true, force: true }))

const order = ['received', 'started', 'finished', 'acked']

/** Runs a writer, kills it once it has called `many` changes durable, and answers the last state of each command that it called durable. */
async function crash(name: string, many: number): Promise<Map<string, string>> {
  const child = spawn(process.execPath, ['--import', 'tsx', writer, dir, name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString()
    if (said.split('\n').length > many) child.kill('SIGKILL')
  })
  const [, signal] = (await once(child, 'close')) as [number | null, string | null]
  expect(signal).toBe('SIGKILL')
  const lines = said.split('\n').slice(1, -1)
  return new Map(lines.map((line) => line.split(' ').toReversed() as [string, string]))
}

it('loses nothing that it called durable when the process is killed in the middle of writing', async () => {
  const durable = new Map<string, string>()
  for (const [round, many] of [1, 7, 60, 250].entries()) {
    for (const [id, state] of await crash(`r${round}`, many)) durable.set(id, state)
    const ledger = await DiskLedger.open(dir, systemClock, expect.unreachable)
    for (const [id, state] of durable)
      expect(order.indexOf(ledger.find(id)?.state ?? ''), id).toBeGreaterThanOrEqual(order.indexOf(state))
    await ledger.close()
  }
  expect(durable.size).toBeGreaterThan(60)
})
