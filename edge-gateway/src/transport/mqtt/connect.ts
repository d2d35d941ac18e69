import { type CloseReason, deviceIdOf, type KeyProof, maxHelloBytes, readProof, tokenHash } from '@svc/proto'
import { connack, connackOfVersion5 } from './connack.ts'
import { packetTypes } from './packets.ts'

/** Who a CONNECT says that it is: what a WebSocket says with its upgrade. */
export interface Connect {
  deviceId: string
  tokenSha256: Buffer
  proof: KeyProof | undefined
}

/** Why it is turned down, and what it is answered; none where it is not even MQTT. */
export interface Refusal {
  reason: CloseReason
  answer: Uint8Array | undefined
}

/**
 * How many bytes a connection's first packet has, which must be a CONNECT; undefined while too few have come to tell. A longer one
 * than anybody may send before he is known is refused as soon as it says so.
 */
export function connectSize(bytes: Uint8Array): number | undefined | CloseReason {
  if (bytes.length === 0) return undefined
  if (bytes[0] !== packetTypes.connect << 4) return 'UNEXPECTED_FRAME'
  let length = 0
  for (let n = 0; n < 4; n++) {
    const byte = bytes[1 + n]
    if (byte === undefined) return undefined
    length += (byte & 0x7f) * 0x80 ** n
    if (length > maxHelloBytes) return 'OVERSIZED_FRAME'
    if (byte < 0x80) return 2 + n + length
  }
  return 'MALFORMED_FRAME'
}

const flags = { reserved: 0x01, cleanSession: 0x02, will: 0x04, password: 0x40, userName: 0x80 } as const

const versions = { ours: 4, other: 5 } as const
const protocolNames = ['MQTT', 'MQIsdp']

/**
 * Reads a whole CONNECT (MQTT 3.1.1 §3.1). Client id and user name are the device's id, the password is its token, and behind a dot a proof of
 * its key where it has one; there is no will, and nothing is kept from one connection to the next. Says nothing about whether the token is good.
 */
export function readConnect(packet: Buffer): Connect | Refusal {
  const fields = new Fields(packet, packet.findIndex((byte, at) => at > 0 && byte < 0x80) + 1)
  const protocol = fields.text()
  const version = fields.byte()
  const said = fields.byte()
  fields.skip(2) // the keep-alive is the broker's
  if (!fields.whole || !protocolNames.includes(protocol) || said & flags.reserved)
    return refused('MALFORMED_FRAME')
  if (protocol !== 'MQTT' || version !== versions.ours)
    return {
      reason: 'PROTOCOL_VERSION',
      answer: version === versions.other ? connackOfVersion5 : connack('PROTOCOL_VERSION'),
    }
  if (said & flags.will || !(said & flags.cleanSession)) return answered('UNEXPECTED_FRAME')
  const clientId = fields.text()
  const userName = said & flags.userName ? fields.text() : ''
  const [token = '', proof = ''] = said & flags.password ? fields.text().split('.', 2) : []
  if (!fields.whole || !fields.atEnd) return refused('MALFORMED_FRAME')
  const deviceId = deviceIdOf(token)
  if (!deviceId || deviceId !== clientId || deviceId !== userName) return answered('CREDENTIAL_INVALID')
  return { deviceId, tokenSha256: tokenHash(token), proof: readProof(proof) }
}

const refused = (reason: CloseReason): Refusal => ({ reason, answer: undefined })
const answered = (reason: CloseReason): Refusal => ({ reason, answer: connack(reason) })

/** Reads field after field; what is not there reads as nothing and is noticed in the end. */
class Fields {
  readonly #bytes: Buffer
  #at: number
  whole = true

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes
    this.#at = at
  }

  get atEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  byte(): number {
    return this.#take(1)[0] ?? 0
  }

  skip(count: number): void {
    this.#take(count)
  }

  /** A UTF-8 string behind its length: §1.5.3. */
  text(): string {
    const [high = 0, low = 0] = this.#take(2)
    return this.#take(high * 0x100 + low).toString('utf8')
  }

  #take(count: number): Buffer {
    const taken = this.#bytes.subarray(this.#at, this.#at + count)
    this.whole &&= taken.length === count
    this.#at += count
    return taken
  }
}
