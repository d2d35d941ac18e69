import type { Tokens } from './credential.ts'
import type { SigningKey } from '../commands/key-ring.ts'
import { kindOf, urlsOf } from '../transport/kinds.ts'

/** What enrollment gave a device; kept in a file that only its owner reads, for the token in it is the device. */
export interface Identity {
  deviceId: string
  deviceToken: string
  /** see {@link Tokens} */
  nextToken?: string
  previousToken?: string
  /** of a device that enrolled with a key: 32 bytes, base64; it never leaves this file */
  deviceKey?: string
  /** URLs of the gateways, of WebSocket at least, and of MQTT where it is spoken; of a kind any will do */
  gateways: string[]
  signingKeys: SigningKey[]
  /** what releases may be signed with; none: no release is trusted */
  releaseKeys: SigningKey[]
}

const isString = (value: unknown): value is string => typeof value === 'string' && value !== ''

const isGatewayUrl = (value: unknown): value is string => isString(value) && kindOf(value) !== undefined

const isKey = (value: unknown): value is SigningKey =>
  isObject(value) && isString(value['keyId']) && isString(value['publicKey'])

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** From an enrollment answer. Throws when something that the agent cannot do without is missing. */
export function identityOf(answer: unknown): Identity {
  const { deviceId, deviceToken, gatewayUrls, commandSigningKeys, releaseKeys } = isObject(answer)
    ? answer
    : {}
  const { websocket, mqtt = [] } = isObject(gatewayUrls) ? gatewayUrls : {}
  // What is beyond the one way that every agent knows may be for a later one.
  const gateways = [...[websocket].flat(), ...[mqtt].flat().filter(isGatewayUrl)]
  return checked({ deviceId, deviceToken, gateways, signingKeys: commandSigningKeys, releaseKeys })
}

/** From a state file's JSON. Throws like {@link identityOf}. */
export const parseIdentity = (json: string): Identity => {
  const value: unknown = JSON.parse(json)
  return checked(isObject(value) ? value : {})
}

const keysOf = (keys: readonly SigningKey[]): SigningKey[] =>
  keys.map(({ keyId, publicKey }) => ({ keyId, publicKey }))

function checked(told: Record<string, unknown>): Identity {
  const { deviceId, deviceToken, gateways, signingKeys, releaseKeys } = told
  const own = (name: 'nextToken' | 'previousToken' | 'deviceKey') => {
    const value = told[name]
    return isString(value) ? { [name]: value } : {}
  }
  const wrong = (what: string) => new Error(`the identity has no valid ${what}`)
  if (!isString(deviceId)) throw wrong('deviceId')
  if (!isString(deviceToken)) throw wrong('deviceToken')
  if (!Array.isArray(gateways) || !gateways.every(isGatewayUrl) || urlsOf('websocket', gateways).length === 0)
    throw wrong('gateway URLs')
  if (!Array.isArray(signingKeys) || !signingKeys.every(isKey)) throw wrong('command signing keys')
  return {
    deviceId,
    deviceToken,
    ...own('nextToken'),
    ...own('previousToken'),
    ...own('deviceKey'),
    gateways,
    signingKeys: keysOf(signingKeys),
    // Identities of earlier versions have none, and work as before.
    releaseKeys: keysOf(Array.isArray(releaseKeys) ? releaseKeys.filter(isKey) : []),
  }
}

/** The same device with other tokens, of which it has those alone that are named. */
export function withTokens(identity: Identity, tokens: Tokens): Identity {
  const { nextToken: _next, previousToken: _previous, ...rest } = identity
  return { ...rest, ...tokens }
}
