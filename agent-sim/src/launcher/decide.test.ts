import { expect, it } from 'vitest'
import { crashesLimit, type Decision, decide, type Found, startsLimit } from './decide.ts'
import { type Journal, type Stage, stages } from './journal.ts'

const [old, fresh, other] = ['old', 'new', 'other']
const journalAt = (stage: Stage, more: Partial<Journal> = {}): Journal => ({
  stage,
  from: { version: '1.0.0', sha256: old },
  to: { version: '2.0.0', sha256: fresh },
  atMs: 0,
  starts: 0,
  crashes: 0,
  reason: '',
  ...more,
})

/** What becomes of a disk when decisions are followed, with none lost: what starts, and the journal then. */
function follow(found: Found, own = other): { file: string | undefined; journal: Journal | undefined } {
  for (let step = 0; step < 10; step += 1) {
    const decision: Decision = decide(found)
    if (decision.act === 'start') return found
    if (decision.act === 'note') found = { ...found, journal: decision.journal }
    else found = { ...found, file: decision.act === 'restore' ? found.backup : own }
  }
  throw new Error('no end')
}

it.each<[string, Found, string, Stage | undefined, string]>([
  ['nothing is under way', { journal: undefined, file: old, backup: undefined }, old, undefined, ''],
  ['the file is lost', { journal: undefined, file: undefined, backup: old }, old, undefined, ''],
  [
    'file and backup are lost',
    { journal: undefined, file: undefined, backup: undefined },
    other,
    undefined,
    '',
  ],
  [
    'it was killed while it prepared',
    { journal: journalAt('begun'), file: old, backup: undefined },
    old,
    'begun',
    '',
  ],
  [
    'before the old file went',
    { journal: journalAt('swapping'), file: old, backup: old },
    old,
    'failed',
    'interrupted',
  ],
  [
    'after that',
    { journal: journalAt('swapping'), file: undefined, backup: old },
    old,
    'reverted',
    'interrupted',
  ],
  [
    'after the new one came',
    { journal: journalAt('swapping'), file: fresh, backup: old },
    fresh,
    'trial',
    '',
  ],
  ['on trial', { journal: journalAt('trial', { starts: 2 }), file: fresh, backup: old }, fresh, 'trial', ''],
  [
    'started too often',
    { journal: journalAt('trial', { starts: startsLimit }), file: fresh, backup: old },
    old,
    'reverted',
    'exit_at_start',
  ],
  [
    'too often, and the backup is another',
    { journal: journalAt('trial', { starts: startsLimit }), file: fresh, backup: other },
    other,
    'reverted',
    'exit_at_start',
  ],
  [
    'the new file was lost',
    { journal: journalAt('trial'), file: undefined, backup: old },
    old,
    'reverted',
    'interrupted',
  ],
  ['proven', { journal: journalAt('proven', { crashes: 1 }), file: fresh, backup: old }, fresh, 'proven', ''],
  [
    'proven, and it keeps crashing',
    { journal: journalAt('proven', { crashes: crashesLimit }), file: fresh, backup: old },
    old,
    'reverted',
    'crashed',
  ],
  [
    'killed while the backup came back',
    { journal: journalAt('reverting', { reason: 'no_contact' }), file: old, backup: old },
    old,
    'reverted',
    'no_contact',
  ],
])('%s: a whole file starts, and it is known how the update ended', (_, found, file, stage, reason) => {
  const end = follow(found)
  expect([end.file, end.journal?.stage, end.journal?.reason ?? '']).toEqual([file, stage, reason])
})

it('finds a whole file from whatever is on the disk', () => {
  const files = [undefined, old, fresh, other]
  for (const stage of stages)
    for (const starts of [0, startsLimit])
      for (const file of files)
        for (const backup of files) {
          const end = follow({ journal: journalAt(stage, { starts, crashes: starts }), file, backup })
          expect(end.file).toBeDefined()
          // What did not start often enough is not started again.
          if (stage === 'trial' && starts === startsLimit) expect(end.file).not.toBe(fresh)
        }
})
