import { setTimeout as sleep } from 'node:timers/promises'
import { generateSync, generateURI } from 'otplib'
import { Expected } from '../start/options.ts'

/** Who logs in. */
export interface Credentials {
  email: string
  password: string
  /** base32, RFC 4648 */
  totpSecret: string
}

export interface Tokens {
  accessToken: string
  refreshToken: string
}

/** RFC 6238: a code is good for this long, and once. */
const stepMs = 30_000
const codesTried = 3
const answerWithinMs = 30_000

export const currentCode = (secret: string): string => generateSync({ secret })

/** The code of a moment, and the one after it with the time from which on it counts. Milliseconds since 1970. */
export function codes(secret: string, nowMs: number) {
  const nextAtMs = nowMs - (nowMs % stepMs) + stepMs
  const at = (ms: number) => generateSync({ secret, epoch: Math.floor(ms / 1000) })
  return { now: at(nowMs), next: at(nextAtMs), nextAtMs }
}

/** What an authenticator app scans or takes as text. */
export const otpauthUrl = ({ email, totpSecret }: Credentials): string =>
  generateURI({ issuer: 'svc', label: email, secret: totpSecret })

/**
 * Logs in with password and second factor (interface §Authentication 4 and 8). A code that was used already is
 * answered with a refusal: then the next time step is waited for, which `onWait` is told in milliseconds.
 */
export async function login(api: string, who: Credentials, onWait: (ms: number) => void): Promise<Tokens> {
  const first = await post<Tokens | { mfaRequired: true; tempToken: string }>(api, '/auth/login', {
    email: who.email,
    password: who.password,
  })
  if (!first.ok) throw refusal('log in', first)
  if (!('mfaRequired' in first.value)) return first.value
  const { tempToken } = first.value
  for (let attempt = 1; ; attempt++) {
    const second = await post<Tokens>(api, '/auth/mfa/verify', {
      code: currentCode(who.totpSecret),
      tempToken,
    })
    if (second.ok) return second.value
    if (second.status === 429 || attempt === codesTried) throw refusal('verify the second factor', second)
    const untilNext = stepMs - (Date.now() % stepMs) + 100
    onWait(untilNext)
    await sleep(untilNext)
  }
}

/** A fresh pair for a refresh token, or undefined when that is no longer good. */
export async function refresh(api: string, { refreshToken }: Tokens): Promise<Tokens | undefined> {
  const answer = await post<Tokens>(api, '/auth/refresh', { refreshToken })
  if (!answer.ok && answer.status !== 401) throw refusal('refresh', answer)
  return answer.ok ? answer.value : undefined
}

/** Whether the server takes this access token now. */
export async function isAccepted(api: string, { accessToken }: Tokens): Promise<boolean> {
  const answer = await request(api, '/auth/me', { headers: { authorization: `Bearer ${accessToken}` } })
  return answer.ok
}

interface Refused {
  ok: false
  status: number
  code: string
  message: string
  /** seconds, with 429 */
  retryAfter?: number | undefined
}

type Answer<T> = { ok: true; value: T } | Refused

const post = <T>(api: string, path: string, body: unknown) =>
  request<T>(api, path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

async function request<T>(api: string, path: string, init: RequestInit): Promise<Answer<T>> {
  const limit = { signal: AbortSignal.timeout(answerWithinMs) }
  const response = await fetch(`${api}/api/v1${path}`, { ...init, ...limit }).catch((error: Error) => {
    throw new Expected(`No server answers at ${api} (${reason(error)}): is \`npm start\` running?`)
  })
  const body = await response.text()
  if (response.ok) return { ok: true, value: JSON.parse(body) as T }
  const { error, retryAfter } = parseError(body)
  return { ok: false, status: response.status, code: error.code, message: error.message, retryAfter }
}

interface ErrorBody {
  error: { code: string; message: string }
  retryAfter?: number
}

function parseError(body: string): ErrorBody {
  try {
    return JSON.parse(body) as ErrorBody
  } catch {
    return { error: { code: 'UNREADABLE', message: body.slice(0, 200) } }
  }
}

const changedSince =
  '; a password or second factor that was changed since it was made belongs into demo.json of the data folder (password, totpSecret)'

const reason = (error: Error) => (error.cause as NodeJS.ErrnoException | undefined)?.code ?? error.message

function refusal(what: string, { status, code, message, retryAfter }: Refused) {
  const when = retryAfter === undefined ? '' : `; again in ${retryAfter} s`
  // What was changed over the API is known to whoever did that alone.
  const mend = status === 401 ? changedSince : ''
  return new Expected(`The server does not let us ${what}: ${status} ${code}, ${message}${when}${mend}`)
}
