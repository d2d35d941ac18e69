import { hash, parseOptions, verify } from '@node-rs/argon2'

/** Too many wait already: this one may try again in a moment. */
export class PasswordsBusy extends Error {
  override name = 'PasswordsBusy'
}

/** argon2id (the library's default) with 19 MiB, two passes, one lane (OWASP's minimum). */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Each hash takes a core for about 30 ms; more at once would only starve everything else. */
const atOnce = 2
/** Waiting ones beyond this would be answered after their users gave up. */
const maxWaiting = 50

/** Password hashes in PHC text. */
export interface Passwords {
  hash(password: string): Promise<string>
  /** With no hash to compare with it takes as long and says no, so that time tells nothing about accounts. */
  verify(stored: string | null | undefined, password: string): Promise<boolean>
  /** Made under weaker parameters than today's: hash again while the password is at hand. */
  outdated(stored: string): boolean
}

/** Runs few at a time, the others in turn. @throws PasswordsBusy when too many wait */
function queue(limit: number, maxWaiting: number) {
  let running = 0
  const waiting: (() => void)[] = []
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running < limit) running++
    else {
      if (waiting.length >= maxWaiting) throw new PasswordsBusy('too many logins at once')
      await new Promise<void>((resume) => waiting.push(resume)) // the slot is handed over
    }
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}

export function argon2Passwords(): Passwords {
  const inTurn = queue(atOnce, maxWaiting)
  let decoy: Promise<string> | undefined
  return {
    hash: (password) => inTurn(() => hash(password, parameters)),
    async verify(stored, password) {
      if (stored) return inTurn(() => verify(stored, password))
      decoy ??= hash('no account has this password', parameters)
      const against = await decoy
      await inTurn(() => verify(against, password))
      return false
    },
    outdated(stored) {
      const { memoryCost, timeCost } = parseOptions(stored)
      return (memoryCost ?? 0) < parameters.memoryCost || (timeCost ?? 0) < parameters.timeCost
    },
  }
}
