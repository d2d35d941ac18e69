/** Stands where something was left out. */
export const redacted = '[redacted]'

interface Pattern {
  /** a text in which none of these stands is not looked at further */
  hint: RegExp
  form: RegExp
  /** what of it stays */
  keeps: string
}

/** The names of secrets in texts; more than {@link isSensitive} would be too many: texts are language. */
const named = String.raw`[\w-]*(?:password|passwd|pwd|secret|token|ticket|api[_-]?key|csrf|jwt|otp|sig|signature)`

/** What secrets look like, wherever they stand in a text. */
const patterns: readonly Pattern[] = [
  // JSON Web Tokens, signed or sealed.
  { hint: /eyJ/, form: /eyJ[\w-]{6,}\.[\w-]{4,}(?:\.[\w-]*)*/g, keeps: '' },
  // Ours (svc_ API keys, svca_ devices, svcl_ links …) and what others mark theirs with.
  {
    hint: /svc[a-z]?_|whsec_|gh[a-z]_|github_pat_|sk_|xox/,
    form: /(?:svc[a-z]?_|whsec_|gh[pousr]_|github_pat_|sk_(?:live|test)_|xox[abprs]-)(?=[\w-]*[A-Z\d])[\w-]{16,}/g,
    keeps: '',
  },
  {
    hint: /-----BEGIN/,
    form: /-----BEGIN (?:(?!-----END)[^"])*(?:-----END [A-Z0-9 ]{0,40}-----)?/g,
    keeps: '',
  },
  { hint: /otpauth:/i, form: /otpauth:\/\/[^\s"\\]+/gi, keeps: '' },
  // Who logs in where: of an address only what is behind the last @ stays, as many as a password may hold.
  { hint: /:\/\/[^\s"]*@/, form: /(:\/\/)(?:[^\s"\\/@:]*:[^\s"\\]*@|(?:[^\s"\\/@?#]+@)+)/g, keeps: '$1' },
  {
    hint: /bearer|basic|digest/i,
    form: /\b((?:bearer|basic|digest)\s+)(?=[\w.~+/-]*[A-Z\d])[\w.~+/-]{8,}=*/gi,
    keeps: '$1',
  },
  // Queries and forms.
  {
    hint: /=/,
    form: new RegExp(
      String.raw`((?:^|[^\w-])(?:${named}|code|state|nonce|key|assertion|pass)=)[^\s"&;,\\)]+`,
      'gi',
    ),
    keeps: '$1',
  },
  // Headers as text, and lists of them that became one.
  {
    hint: /cookie|authorization|-key|csrf/i,
    form: /((?:set-cookie|cookie|authorization|x-api-key|idempotency-key|x-svc-csrf)(?:\s*:\s*|,(?=\S)))(?!\\*")[^"\\\r\n]+/gi,
    keeps: '$1',
  },
  // "password: x", and JSON within a text.
  {
    hint: /pass|secret|otp|token|code|cookie|author|key/i,
    form: new RegExp(
      String.raw`((?:\\*"(?:${named}|code|key|authorization|cookie)\\*"\s*:\s*\\*"?|\b(?:password|passwd|passphrase|otp)\s*:\s+))[^\s"\\,}]+`,
      'gi',
    ),
    keeps: '$1',
  },
  // "your code is 123456", "123456 is your code".
  {
    hint: /code|otp|pin/i,
    form: /(\b(?:code|otp|pin)\b[^\d"]{0,16})\d{6}(?:\d\d)?(?![\w.:-])/gi,
    keeps: '$1',
  },
  { hint: /code/i, form: /(^|[^\w.:+-])\d{6}(?:\d\d)?(?= is [^"]{0,40}\bcode\b)/gi, keeps: '$1' },
]

/** One look for all of them: most texts hold nothing that any of them begins with. */
const any =
  /eyJ|svc[a-z]?_|whsec|gh[pousr]_|_pat_|sk_|xox|-----|:\/\/|=|[bB](?:earer|asic)|BEARER|BASIC|[dD]igest|[pP]ass|PASS|[sS]ecret|SECRET|[tT]oken|TOKEN|[cC]ode|CODE|[cC]ookie|COOKIE|[aA]uthor|AUTHOR|[kK]ey\b|-KEY|[oO]tp|OTP|[pP]in\b|PIN\b|[cC]srf|CSRF/

/** Shorter ones are words and numbers. */
const shortest = 8

/** A text without what looks like a secret. */
export function scrubbed(text: string): string {
  if (text.length < shortest || !any.test(text)) return text
  let rest = text
  for (const { hint, form, keeps } of patterns)
    if (hint.test(rest)) rest = rest.replace(form, `${keeps}${redacted}`)
  return rest
}
