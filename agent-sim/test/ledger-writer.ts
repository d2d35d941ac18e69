import { svc } from '@svc/proto'
import { DiskLedger } from '../src/ledger/disk.ts'
import { systemClock } from '../src/clock.ts'

/** Writes to the ledger in argv[2] until it is killed, and says on stdout what is durable: one line `state id` each. */
const [, , dir = '', name = ''] = process.argv
const ledger = await DiskLedger.open(dir, systemClock, console.error)
const say = (text: string) => process.stdout.write(`${text}\n`)
say('open')

async function live(id: string, seq: number): Promise<void> {
  const body = Buffer.alloc(Math.floor(Math.random() * 20_000), 7)
  await ledger.write({
    state: 'received',
    id,
    body,
    attempt: 1,
    seq,
    expiresAtMs: Date.now() + 3_600_000,
  })
  say(`received ${id}`)
  await ledger.write({ state: 'started', id, atMs: Date.now() })
  say(`started ${id}`)
  const error = 'x'.repeat(Math.floor(Math.random() * 20_000))
  const result = svc.v1.CommandResult.encode({ commandId: id, error }).finish()
  await ledger.write({ state: 'finished', id, result })
  say(`finished ${id}`)
  await ledger.write({ state: 'acked', id })
  say(`acked ${id}`)
}

for (let round = 0; ; round += 1)
  await Promise.all(Array.from({ length: 8 }, (_, at) => live(`${name}-${round}-${at}`, round * 8 + at)))
