import type { Place } from '../world/marks.ts'

/** What the rules need to know of a caller; who makes them is `world/callers.ts`. */
export interface Principal {
  /** `dead`: one that is no good, or not for this · `far`: an API key, from where it may not be used */
  brings: 'nothing' | 'dead' | 'far' | 'login' | 'key'
  member?: 'partner' | 'organization'
  /** the organizations that they see, by what is there */
  sees: readonly Place[]
  /** all organizations of their partner */
  whole?: true
  /** of the permissions; `row`: the one that the row needs */
  holds: 'everything' | 'reads' | 'a little' | 'row' | 'all but row' | 'nothing'
  factor?: 'stale' | 'unenrolled'
  platform?: true
}

const dead = { brings: 'dead', sees: [], holds: 'nothing' } as const
const login = { brings: 'login' } as const
const a = { sees: ['own'] } as const
const first = { member: 'partner', sees: ['own', 'sibling'], whole: true } as const
const everything = { holds: 'everything' } as const

/** Partner 1 has organizations A (`own`) and B (`sibling`), partner 2 has `foreign`. */
export const principals: Record<string, Principal> = {
  anonymous: { brings: 'nothing', sees: [], holds: 'nothing' },
  /** reads devices, organizations and sites of A */
  viewer: { ...login, ...a, member: 'organization', holds: 'a little' },
  admin: { ...login, ...a, ...everything, member: 'organization' },
  selected: { ...login, ...a, ...everything, member: 'partner' },
  none: { ...login, ...everything, member: 'partner', sees: [] },
  all: { ...login, ...first, ...everything },
  other: { ...login, ...everything, member: 'partner', sees: ['foreign'], whole: true },
  just: { ...login, ...first, holds: 'row' },
  lacking: { ...login, ...first, holds: 'all but row' },
  /** their role forces a second factor that they have not enrolled */
  unenrolled: { ...login, ...first, ...everything, factor: 'unenrolled' },
  /** no second factor was checked in this login */
  stale: { ...login, ...first, ...everything, factor: 'stale' },
  /** belongs to nothing */
  stray: { ...login, sees: [], holds: 'nothing' },
  /** belongs to nothing, and runs the installation */
  platform: { ...login, sees: [], holds: 'nothing', platform: true },
  /** access tokens, but for what is wrong with them good ones of somebody like `all` */
  expired: dead,
  audience: dead,
  disabled: dead,
  /** the token of a device of A */
  device: dead,
  /** the tempToken of a login that wants a second factor */
  temp: dead,
  /** API keys of users like `all`: all that reads; everything, narrowed to A; the scope of the row; all but that */
  reader: { brings: 'key', ...first, holds: 'reads' },
  narrow: { brings: 'key', ...a, ...everything, member: 'partner' },
  justKey: { brings: 'key', ...first, holds: 'row' },
  lackingKey: { brings: 'key', ...first, holds: 'all but row' },
  /** the key of a disabled user; one that is used from an address that it does not allow */
  deadKey: dead,
  farKey: { brings: 'far', sees: [], holds: 'nothing' },
}
