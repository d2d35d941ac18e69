/** Names by which secrets go, without case and separators: what is exactly this, or ends or begins so. */
const exactly = new Set([
  'code',
  'otp',
  'totp',
  'pin',
  'key',
  'keys',
  'jwt',
  'csrf',
  'pwd',
  'auth',
  'dsn',
  'nonce',
  'assertion',
  'verifier',
  'codeverifier',
  'connectcode',
  'mfacode',
  'smscode',
  'usercode',
  'devicecode',
  'authcode',
  'authorizationcode',
  'recoverycodes',
  'recoverycode',
  'qrcodedataurl',
  'xsvccsrf',
  'bearer',
  'psk',
])
const within =
  /password|passwd|passphrase|secret|authorization|cookie|credential|apikey|privatekey|otpauth|signingkey/
const endings = /(token|tokens|ticket|tickets|key|jwt|csrf|otp|totp|signature|pem|pass|passcode)$/

/** Names that end like those of secrets and are none. */
const harmless = new Set(['publickey', 'publickeys', 'tokenhash', 'haskey'])

/** Headers whose value follows them in a list: `rawHeaders` of Node, entries of `Headers`. */
const headers = /^(?:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-svc-csrf|idempotency-key)$/i

/** Whether what comes behind this in a list is not for logs. */
export const announcesSecret = (item: unknown): boolean => typeof item === 'string' && headers.test(item)

const known = new Map<string, boolean>()
/** Names come from our own code, and from bodies that somebody made up: of those no more than this are remembered. */
const mostKnown = 2_000

const decide = (name: string): boolean => {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  if (harmless.has(plain)) return false
  return exactly.has(plain) || within.test(plain) || endings.test(plain)
}

/** Whether what stands under this name is not for logs. */
export function isSensitive(name: string): boolean {
  const before = known.get(name)
  if (before !== undefined) return before
  const is = decide(name)
  if (known.size < mostKnown) known.set(name, is)
  return is
}
