import { hash, parseOptions, verify } from '@node-rs/argon2'
import { type Load, Turns } from './turns.ts'

/** Too many wait already: this one may try again in a moment. */
export class PasswordsBusy extends Error {
  override name = 'PasswordsBusy'
}

/** argon2id (the library's default) with 19 MiB, two passes, one lane (OWASP's minimum). */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** How much of this work there may be. */
export interface PasswordLimits {
  atOnce: number
  maxWaiting: number
}

export const passwordLimits: PasswordLimits = {
  /**
   * Each takes a core for about 30 ms, 19 MiB, and one of the four threads that Node has for all such work: more at once would starve
   * what else is answered, and leave files and names of hosts without a thread.
   */
  atOnce: 2,
  /** Whoever waits behind more would be answered after they gave up. */
  maxWaiting: 50,
}

/** Password hashes in PHC text. */
export interface Passwords {
  hash(password: string): Promise<string>
  /** With no hash to compare with it takes as long and says no, so that time tells nothing about accounts. */
  verify(stored: string | null | undefined, password: string): Promise<boolean>
  /** Made under weaker parameters than today's: hash again while the password is at hand. */
  outdated(stored: string): boolean
  /** hashes under way, waiting, and refused for want of room */
  load(): Load
}

/** Every hash of the process goes through here. @throws PasswordsBusy when too many wait */
export function argon2Passwords(limits = passwordLimits): Passwords {
  const turns = new Turns(limits, () => new PasswordsBusy('too many passwords at once'))
  const newHash = (password: string) => turns.run(() => hash(password, parameters))
  let decoy: Promise<string> | undefined
  const nobody = () =>
    (decoy ??= newHash('no account has this password').catch((error: unknown) => {
      decoy = undefined // there was no room for it: whoever comes next tries again
      throw error
    }))
  return {
    hash: newHash,
    async verify(stored, password) {
      if (stored) return turns.run(() => verify(stored, password))
      const against = await nobody()
      await turns.run(() => verify(against, password))
      return false
    },
    outdated(stored) {
      const { memoryCost, timeCost } = parseOptions(stored)
      return (memoryCost ?? 0) < parameters.memoryCost || (timeCost ?? 0) < parameters.timeCost
    },
    load: () => turns.load(),
  }
}
