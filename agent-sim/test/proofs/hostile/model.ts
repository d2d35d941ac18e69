import type { CloseReason } from '@svc/proto'
import type { Said } from './decode.ts'

export type Transport = 'websocket' | 'mqtt' | 'mqtt-ws'

/** What is to become of a frame of an admitted device. `answered`: with a HeartbeatAck. */
export type Fate = { kind: 'kept'; answered: boolean } | { kind: 'closed'; reason: CloseReason }

/** What an agent may say, by the wire; whatever else an envelope can hold is for the other direction. */
export const upKinds = [
  'hello',
  'heartbeat',
  'commandAck',
  'commandProgress',
  'commandResult',
  'inventory',
  'updateStatus',
  'credentialProposal',
  'goodbye',
] as const
export const downKinds = [
  'welcome',
  'heartbeatAck',
  'command',
  'commandCancel',
  'resultAck',
  'inventoryAck',
  'updateOffer',
  'configUpdate',
  'move',
  'refused',
  'credentialStaged',
] as const

const maxHeartbeatBytes = 16 * 1024
const maxFrameBytes = 4 * 1024 * 1024
const hashBytes = 32
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** What there is one of: versions of the protocol. */
const onlyVersion = 1n
/** As numbered in session.proto; whatever else an agent gives as its reason says no more than that it went. */
const farewells: Partial<Record<string, CloseReason>> = { 1: 'SHUTDOWN', 2: 'UNINSTALL', 17: 'DRAINING' }

const kept: Fate = { kind: 'kept', answered: false }
const closed = (reason: CloseReason): Fate => ({ kind: 'closed', reason })

/** What the documents say of a frame (docs/interface.md §Presence, docs/decisions/0014). Imports nothing of the gateway. */
export function fateOf(said: Said | undefined, bytes: number, transport: Transport): Fate {
  if (bytes > maxFrameBytes) return closed('OVERSIZED_FRAME')
  if (!said) return closed('MALFORMED_FRAME')
  const kind = said['body'] as string | undefined
  if (!kind) return closed('UNKNOWN_KIND')
  const body = said[kind] as Said
  switch (kind) {
    case 'hello':
      return transport === 'websocket' ? closed('UNEXPECTED_FRAME') : versioned(body)
    case 'heartbeat':
      return bytes > maxHeartbeatBytes ? closed('OVERSIZED_FRAME') : { kind: 'kept', answered: true }
    case 'commandAck':
    case 'commandProgress':
    case 'commandResult':
      return uuid.test((body['commandId'] as string | undefined) ?? '') ? kept : closed('MALFORMED_FRAME')
    case 'inventory':
      return inventoried(body)
    case 'updateStatus':
      return kept
    case 'credentialProposal':
      return (body['tokenSha256'] as Buffer | undefined)?.length === hashBytes
        ? kept
        : closed('MALFORMED_FRAME')
    case 'goodbye':
      return closed(
        farewells[String(BigInt.asIntN(32, (body['reason'] as bigint | undefined) ?? 0n))] ?? 'PEER_CLOSED',
      )
    default:
      return closed('UNEXPECTED_FRAME')
  }
}

/** A CONNECT is taken for ours; the Hello behind it may say otherwise, and need not say anything. */
function versioned(hello: Said): Fate {
  const [min, max] = ['protocolMin', 'protocolMax'].map((name) =>
    BigInt.asUintN(32, (hello[name] as bigint) ?? 0n),
  )
  if (!max) return kept
  return (min ?? 0n) <= onlyVersion && max >= onlyVersion ? kept : closed('PROTOCOL_VERSION')
}

/** One that this side knows has a hash; what only newer agents know is none of its business. */
function inventoried(inventory: Said): Fate {
  if (!inventory['payload']) return kept
  return (inventory['hash'] as Buffer | undefined)?.length === hashBytes ? kept : closed('MALFORMED_FRAME')
}
