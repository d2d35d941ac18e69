import type { Answer } from '../client.ts'
import type { Stage } from '../stage.ts'

/** Somebody who is logged in. */
export interface Person {
  email: string
  password: string
  /** headers that say who they are */
  bearer: Record<string, string>
  refreshToken: string
  cookies: Record<string, string>
}

export const bearerOf = (token: unknown): Record<string, string> => ({
  authorization: `Bearer ${String(token)}`,
})

/** What of an answer is a secret, taken note of. */
export function noteTokens({ canaries }: Stage, whose: string, { json, cookies }: Answer): void {
  const text = (name: string) => {
    const value = json[name]
    return typeof value === 'string' ? value : undefined
  }
  for (const [kind, name] of [
    ['access token', 'accessToken'],
    ['refresh token', 'refreshToken'],
    ['tempToken', 'tempToken'],
    ['TOTP secret', 'secret'],
  ] as const)
    if (text(name) !== undefined) canaries.shown(kind, whose, text(name))
  for (const code of (json['recoveryCodes'] ?? []) as string[]) canaries.shown('recovery code', whose, code)
  if (cookies['svc_refresh_token'])
    canaries.shown('refresh token', `cookie: ${whose}`, cookies['svc_refresh_token'])
  if (cookies['svc_csrf_token']) canaries.shown('CSRF token', whose, cookies['svc_csrf_token'])
}

/** Who logged in by that answer. */
export function personOf(who: { email: string; password: string }, { json, cookies }: Answer): Person {
  return {
    ...who,
    bearer: bearerOf(json['accessToken']),
    refreshToken: String(json['refreshToken']),
    cookies,
  }
}

/** With password alone, or as far as that leads. */
export async function logIn(stage: Stage, who: { email: string; password: string }): Promise<Answer> {
  const answer = await stage.client.want(200, 'POST', '/auth/login', {
    body: { email: who.email, password: who.password },
  })
  noteTokens(stage, who.email, answer)
  return answer
}

/** The second factor of a login that asked for one. */
export async function verify(stage: Stage, whose: string, first: Answer, code: string): Promise<Answer> {
  const answer = await stage.client.want(200, 'POST', '/auth/mfa/verify', {
    body: { tempToken: first.json['tempToken'], code },
  })
  noteTokens(stage, whose, answer)
  return answer
}
