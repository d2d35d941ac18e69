import { ApiError } from './errors.ts'

const minute = 60
const hour = 60 * minute
const day = 24 * hour

/**
 * Every rate limit by name. `of`: what it limits, in words for the refused. `per`: whom it counts (an address means its /64 for IPv6; `token` is the `tempToken`).
 * `counts: 'failures'`: a point is taken before the attempt and given back unless the answer is 401 or 403, so that parallel
 * guesses cannot slip past the count. `store`: where it counts; what guards secrets counts in Postgres and holds with Redis gone.
 * The kernel applies those that a route declares in `limit`; handlers call `ports.limits` for what they learn only later.
 */
export const limits = {
  // interface §Limits: registration
  register: {
    of: 'registrations from this address',
    per: ['ip'],
    points: 5,
    seconds: hour,
    store: 'postgres',
    counts: 'requests',
  },
  'register-partner': {
    of: 'registrations from this address',
    per: ['ip'],
    points: 3,
    seconds: hour,
    store: 'postgres',
    counts: 'requests',
  },
  // Each tells the address's owner by mail, whoever it was. Beyond it the answer is the same, and no mail goes out.
  'register-account': {
    of: 'registrations with this e-mail',
    per: ['email'],
    points: 3,
    seconds: hour,
    store: 'postgres',
    counts: 'requests',
  },
  // Guessing one account from one place, one account from many, many from one place.
  login: {
    of: 'failed logins with this e-mail from this address',
    per: ['ip', 'email'],
    points: 5,
    seconds: 15 * minute,
    store: 'postgres',
    counts: 'failures',
  },
  'login-account': {
    of: 'failed logins with this e-mail',
    per: ['email'],
    points: 20,
    seconds: hour,
    store: 'postgres',
    counts: 'failures',
  },
  'login-address': {
    of: 'failed logins from this address',
    per: ['ip'],
    points: 50,
    seconds: 15 * minute,
    store: 'postgres',
    counts: 'failures',
  },
  // Second factor: 5 tries burn the tempToken; ten per user whatever the number of logins begun.
  mfa: {
    of: 'wrong codes for this login',
    per: ['token'],
    points: 5,
    seconds: 15 * minute,
    store: 'postgres',
    counts: 'failures',
  },
  'mfa-user': {
    of: 'wrong codes from this user',
    per: ['user'],
    points: 10,
    seconds: 15 * minute,
    store: 'postgres',
    counts: 'failures',
  },
  'sms-send': {
    of: 'text messages for this login',
    per: ['token'],
    points: 3,
    seconds: 15 * minute,
    store: 'postgres',
    counts: 'requests',
  },
  'sms-number': {
    of: 'text messages to this number',
    per: ['phone'],
    points: 5,
    seconds: day,
    store: 'postgres',
    counts: 'requests',
  },
  // A text message costs money, and its reader's patience.
  'phone-number': {
    of: 'codes sent to this number',
    per: ['phone'],
    points: 3,
    seconds: hour,
    store: 'postgres',
    counts: 'requests',
  },
  'phone-user': {
    of: 'codes asked for by this user',
    per: ['user'],
    points: 5,
    seconds: hour,
    store: 'postgres',
    counts: 'requests',
  },
  'password-confirm': {
    of: 'wrong passwords from this user',
    per: ['user'],
    points: 5,
    seconds: 15 * minute,
    store: 'postgres',
    counts: 'failures',
  },
  'forgot-password': {
    of: 'password resets from this address',
    per: ['ip'],
    points: 10,
    seconds: hour,
    store: 'postgres',
    counts: 'requests',
  },
  'forgot-password-account': {
    of: 'password resets for this e-mail',
    per: ['email'],
    points: 3,
    seconds: hour,
    store: 'postgres',
    counts: 'requests',
  },
  // A token cannot be guessed; hashing a password for whoever comes is worth a limit.
  'reset-password': {
    of: 'new passwords from this address',
    per: ['ip'],
    points: 20,
    seconds: hour,
    store: 'postgres',
    counts: 'requests',
  },
  // Invitations are mails to whomever their sender names.
  invite: {
    of: 'invitations by this user',
    per: ['user'],
    points: 200,
    seconds: hour,
    store: 'redis',
    counts: 'requests',
  },
  // A link cannot be guessed; what is limited is the work of hashing, for an office that sets up at once.
  'invite-link': {
    of: 'invitations read or accepted from this address',
    per: ['ip'],
    points: 60,
    seconds: 10 * minute,
    store: 'redis',
    counts: 'requests',
  },
  // Asking, leaving, coming back, exchanging: four to a login, and an office begins its day behind one address.
  sso: {
    of: 'requests for single sign-on from this address',
    per: ['ip'],
    points: 1_200,
    seconds: 5 * minute,
    store: 'redis',
    counts: 'requests',
  },
  refresh: {
    of: 'token refreshes from this address',
    per: ['ip'],
    points: 120,
    seconds: minute,
    store: 'redis',
    counts: 'requests',
  },
  // A site of a thousand machines may enrol behind one address in one roll-out: only wrong keys count in the end, but each
  // attempt holds a point while it runs, so there must be points for many at once.
  enroll: {
    of: 'failed enrollments from this address',
    per: ['ip'],
    points: 300,
    seconds: 15 * minute,
    store: 'postgres',
    counts: 'failures',
  },
  // An office of a thousand machines updates itself from behind one address within minutes.
  'agent-download': {
    of: 'downloads of the agent from this address',
    per: ['ip'],
    points: 3_000,
    seconds: minute,
    store: 'redis',
    counts: 'requests',
  },
  // `points` unless the key says another number.
  'api-key': {
    of: 'requests with this API key',
    per: ['key'],
    points: 600,
    seconds: minute,
    store: 'redis',
    counts: 'requests',
  },
  // Whoever guesses keys; one that turns out to be real gives its point back, and takes none from then on.
  'api-key-guess': {
    of: 'unknown API keys from this address',
    per: ['ip'],
    points: 300,
    seconds: minute,
    store: 'redis',
    counts: 'failures',
  },
  // Not a limit of requests: refused authorizations beyond it leave no audit row.
  denied: {
    of: 'refused requests of this user',
    per: ['user'],
    points: 60,
    seconds: minute,
    store: 'redis',
    counts: 'requests',
  },
} as const satisfies Record<string, Limit>

type Part = 'ip' | 'email' | 'user' | 'token' | 'phone' | 'key'

export interface Limit {
  /** what there were too many of, as the refusal says: the same for accounts that exist and that do not */
  of: string
  per: readonly Part[]
  points: number
  /** length of the fixed window */
  seconds: number
  store: 'postgres' | 'redis'
  counts: 'requests' | 'failures'
}

export type LimitName = keyof typeof limits

/** Whom to count: the parts that the limit's `per` names must be there. `user` is a user's id, `key` an API key's. */
export type Subject = { readonly [P in Part]?: string | undefined }

/** How often a subject was counted in its window, and how long that lasts. */
export interface Count {
  hits: number
  msLeft: number
}

/** Counters behind the named limits. */
export interface Limits {
  /** Counts one and refuses nothing: for a limit whose number is its subject's own. */
  count(name: LimitName, subject: Subject): Promise<Count>
  /** Counts one. @throws ApiError RATE_LIMITED when that is more than the limit allows */
  hit(name: LimitName, subject: Subject): Promise<void>
  /** Counts nothing. @throws ApiError RATE_LIMITED when no point is left */
  check(name: LimitName, subject: Subject): Promise<void>
  /** Gives one point back. */
  refund(name: LimitName, subject: Subject): Promise<void>
  /** Forgets what was counted. */
  reset(name: LimitName, subject: Subject): Promise<void>
}

/** False where the limit was hit: for who goes on all the same. @param counted of {@link Limits} */
export async function withinLimit(counted: Promise<void>): Promise<boolean> {
  try {
    await counted
    return true
  } catch (error) {
    if (error instanceof ApiError && error.code === 'RATE_LIMITED') return false
    throw error
  }
}

/** The refusal of a limit, with the time until its window ends. */
export function rateLimited(name: LimitName, msLeft: number): ApiError {
  const retryAfter = Math.max(1, Math.ceil(msLeft / 1_000))
  return new ApiError('RATE_LIMITED', `too many ${limits[name].of}`, { retryAfter })
}
