import type { Journal } from './journal.ts'

/** How often the new version may start without reaching the server; and how often it may crash after that, until it has lasted. */
export const startsLimit = 3
export const crashesLimit = 5

/** What lies on the disk; hashes in hex, undefined: no such file. */
export interface Found {
  journal: Journal | undefined
  file: string | undefined
  backup: string | undefined
}

/**
 * What comes before the agent may start:
 * - `start`: nothing
 * - `note`: this journal; then look again
 * - `restore`: the backup
 * - `adopt`: the file that the launcher itself was started from; there is no other whole one
 */
export type Decision = { act: 'start' | 'restore' | 'adopt' } | { act: 'note'; journal: Journal }

const act = (name: 'start' | 'restore' | 'adopt'): Decision => ({ act: name })
const note = (journal: Journal, change: Partial<Journal>): Decision => ({
  act: 'note',
  journal: { ...journal, ...change },
})

/**
 * From whatever a crash, a kill or a loss of power left behind to a file that is whole, step by step; each step may be the last one
 * before the next crash.
 */
export function decide({ journal, file, backup }: Found): Decision {
  if (!journal) return present(file, backup)
  const { from, to } = journal
  switch (journal.stage) {
    case 'swapping':
      if (file === to.sha256) return note(journal, { stage: 'trial' })
      if (file === from.sha256) return note(journal, { stage: 'failed', reason: 'interrupted' })
      return note(journal, { stage: 'reverting', reason: 'interrupted' })
    case 'trial':
      if (file !== to.sha256) return note(journal, { stage: 'reverting', reason: 'interrupted' })
      return journal.starts < startsLimit
        ? act('start')
        : note(journal, { stage: 'reverting', reason: 'exit_at_start' })
    case 'proven':
      return journal.crashes < crashesLimit
        ? present(file, backup)
        : note(journal, { stage: 'reverting', reason: 'crashed' })
    case 'reverting':
      if (file === from.sha256) return note(journal, { stage: 'reverted' })
      if (backup === from.sha256) return act('restore')
      // Neither the old nor the new one: it was adopted for want of a backup.
      return file === undefined || file === to.sha256 ? act('adopt') : note(journal, { stage: 'reverted' })
    case 'begun':
    case 'reverted':
    case 'failed':
      return present(file, backup)
  }
}

const present = (file: string | undefined, backup: string | undefined): Decision =>
  act(file !== undefined ? 'start' : backup === undefined ? 'adopt' : 'restore')
