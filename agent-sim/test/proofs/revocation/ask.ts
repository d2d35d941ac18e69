import type { Person } from '../../../../control-plane/test/harness/people.ts'
import { Api } from '../../system/harness/api.ts'
import type { Asking } from './requests.ts'

const statusOf = async (
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
) => (await new Api(url).ask(method, path, body, headers)).status

/** @param refusal 401 where the login ends, 403 where it is left without the right */
export async function asUser(what: string, who: Person, refusal: number): Promise<Asking> {
  const authorization = `Bearer ${await who.token()}`
  return { what, refusal, ask: (url) => statusOf(url, 'GET', '/devices?limit=1', { authorization }) }
}

export const withKey = (what: string, key: string): Asking => ({
  what,
  refusal: 401,
  ask: (url) => statusOf(url, 'GET', '/devices?limit=1', { 'x-api-key': key }),
})

/** Each that is accepted makes a device. */
export const enrolling = (what: string, enrollmentKey: string): Asking => {
  const device = { hostname: 'newcomer', osType: 'linux', architecture: 'x64', agentVersion: '1.0.0' }
  return {
    what,
    refusal: 401,
    ask: (url) => statusOf(url, 'POST', '/agents/enroll', {}, { enrollmentKey, ...device }),
    everyMs: 500,
  }
}

/** What members may do, apart from who administers. */
export const reading = ['devices:read'] as const

/** Has it done. @throws unless the answer is a success */
export async function done(
  admin: Api,
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<void> {
  const { status, body: said } = await admin.settled(method, path, body, headers)
  if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(said)}`)
}
