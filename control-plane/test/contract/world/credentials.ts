import { randomBytes } from 'node:crypto'
import { openKeySet } from '../../../src/adapters/keys.ts'
import { makeCaller } from './callers.ts'
import { Good } from './good-token.ts'
import type { World } from './things.ts'

const hour = 3_600
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const bearer = (text: string) => ({ authorization: `Bearer ${text}` })

type Headers = Record<string, string>

const heldBy = async (world: World, name: string) =>
  (await makeCaller[name]?.(world, undefined))?.bearer ?? ''

/** What is no credential, made of a good one. */
const bearersOf = (world: World, now: number): Record<string, (it: Good) => Promise<string> | string> => ({
  'an empty bearer': () => '',
  'a word': () => 'garbage',
  'two words': ({ token }) => `${token} ${token}`,
  'a token with another signature': ({ head, payload }) =>
    `${head}.${payload}.${randomBytes(64).toString('base64url')}`,
  'a token with another payload': ({ head, signature, claims }) =>
    `${head}.${encode({ ...claims, mfa: false })}.${signature}`,
  'a token signed by another key': (it) => it.byAnotherKey(),
  'a token of an unknown key': (it) => it.signed({}, { kid: 'unknown' }),
  'an expired token': (it) => it.signed({ iat: now - 2 * hour, exp: now - hour }),
  'a token from the future': (it) => it.signed({ iat: now + hour, exp: now + 2 * hour }),
  'a token that lives too long': (it) => it.signed({ iat: now - hour, exp: now + hour }),
  'a token for another audience': (it) => it.signed({ aud: 'http://elsewhere.test/api' }),
  'a token of another issuer': (it) => it.signed({ iss: 'http://elsewhere.test' }),
  'a token of another type': (it) => it.signed({}, { typ: 'JWT' }),
  'a token of no session': (it) => it.signed({ sid: crypto.randomUUID() }),
  'a token of an older epoch': (it) => it.signed({ aep: 0 }),
  'a token of no user': (it) => it.signed({ sub: crypto.randomUUID() }),
  'algorithm none': ({ header, payload }) => `${encode({ ...header, alg: 'none' })}.${payload}.`,
  'the public key as a shared secret': (it) => it.confused(),
  'a tempToken': () => heldBy(world, 'temp'),
  'a device token': () => heldBy(world, 'device'),
  'a refresh token': async () =>
    (await world.accounts.logInFully(await world.accounts.account())).refreshToken,
  'an enrollment key': async () => (await world.things('own')).enrollmentSecret,
})

const others: Record<string, (it: Good) => Headers> = {
  'no credential': () => ({}),
  'another scheme': () => ({ authorization: `Basic ${Buffer.from('admin:admin').toString('base64')}` }),
  'a token without its scheme': ({ token }) => ({ authorization: token }),
  'an unknown API key': () => ({ 'x-api-key': `svc_${randomBytes(32).toString('hex')}` }),
  'a good token beside an unknown API key': ({ token }) => ({ ...bearer(token), 'x-api-key': 'svc_unknown' }),
}

/** Every way to be nobody, each made of a good token of a user of its own. */
export function credentialsOf(world: World) {
  const keys = openKeySet(world.config.keysDir, 'jwt').current()
  const now = Math.floor(world.clock.now().getTime() / 1_000)
  const good = async () =>
    new Good(await (await world.people.partnerAdmin(world.places.own.partnerId)).token(), keys)
  const credentials: [string, (it: Good) => Promise<Headers>][] = [
    ...Object.entries(bearersOf(world, now)).map(([name, make]): [string, (it: Good) => Promise<Headers>] => [
      name,
      async (it) => bearer(await make(it)),
    ]),
    ...Object.entries(others).map(([name, make]): [string, (it: Good) => Promise<Headers>] => [
      name,
      async (it) => make(it),
    ]),
  ]
  return { credentials, good, bearer }
}
