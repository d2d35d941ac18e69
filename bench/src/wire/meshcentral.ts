import { createHash, randomBytes, sign } from 'node:crypto'

/** What an agent of MeshCentral says and hears on `/agent.ashx`, by hand: its `meshagent.js` is the only description there is. */

/** Commands, the first two bytes of a binary message. */
export const meshCommands = { serverHash: 1, certificate: 2, info: 3, confirm: 4 } as const
/** The same number, from the server: the agent is authenticated. */
const authenticated = meshCommands.confirm

/** An agent of MeshCentral: an RSA key in a certificate of its own, the server whose certificate it expects, and the device group it joins. */
export interface MeshAgent {
  /** X.509, DER in base64 */
  certificate: string
  /** PKCS#8, PEM */
  key: string
  /** SHA-384 of the server's certificate, in base64 */
  serverHash: string
  /** 48 bytes, in base64 */
  group: string
}

export const hashBytes = 48
/** Linux on x86-64, version 0 of its description, no console, no JavaScript: nothing that the server would want to update. */
const [infoVersion, agentId, agentVersion, platformType, capabilities] = [1, 6, 0, 1, 0]

const short = (value: number): Buffer => {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}
const int = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** "I have authenticated you before": the server need not sign anything. */
export const confirm = (): Buffer => short(meshCommands.confirm)

/** Which server is expected, and what it is to sign. */
export const serverHash = (hash: Buffer, nonce: Buffer): Buffer =>
  Buffer.concat([short(meshCommands.serverHash), hash, nonce])

/** Who the agent is, with the signature that proves it. */
export const certificate = (der: Buffer, signature: Buffer): Buffer =>
  Buffer.concat([short(meshCommands.certificate), short(der.length), der, signature])

/** What the agent is, and its device group. */
export function info(group: Buffer, name: string): Buffer {
  const bytes = Buffer.from(name)
  return Buffer.concat([
    short(meshCommands.info),
    ...[infoVersion, agentId, agentVersion, platformType].map(int),
    group,
    int(capabilities),
    short(bytes.length),
    bytes,
  ])
}

/** Its heartbeat, which is answered by the same with `pong`. */
export const ping: Buffer = Buffer.from('{"action":"ping"}')
const pong = Buffer.from('{"action":"pong"}')

/** What follows from a message of the server; undefined: nothing. */
export interface MeshStep {
  say?: Buffer[]
  /** the agent is let in */
  live?: true
  /** why the agent goes */
  leave?: string
}

/** One agent's side of the handshake. Nothing of it is kept once it is over. */
export class MeshHandshake {
  readonly #agent: MeshAgent
  readonly #hash: Buffer
  readonly #nonce = randomBytes(hashBytes)

  constructor(agent: MeshAgent) {
    this.#agent = agent
    this.#hash = Buffer.from(agent.serverHash, 'base64')
  }

  /** What is said first. */
  begin(): Buffer[] {
    return [confirm(), serverHash(this.#hash, this.#nonce)]
  }

  /** What follows from a message that comes before the agent is live. */
  take(message: Buffer): MeshStep | undefined {
    if (message.length < 2) return undefined
    const command = message.readUInt16BE(0)
    if (command === authenticated) return { live: true }
    if (command !== meshCommands.serverHash) return undefined
    const [hash, theirs] = [message.subarray(2, 2 + hashBytes), message.subarray(2 + hashBytes)]
    if (!hash.equals(this.#hash) || theirs.length !== hashBytes)
      return { leave: 'the server is not the one that is expected' }
    const signature = sign('sha384', Buffer.concat([hash, theirs, this.#nonce]), this.#agent.key)
    const der = Buffer.from(this.#agent.certificate, 'base64')
    return { say: [certificate(der, signature), info(Buffer.from(this.#agent.group, 'base64'), 'bench')] }
  }
}

/** Whether a message to an agent that was let in answers its heartbeat. */
export const isPong = (message: Buffer): boolean => message.equals(pong)

/** What an agent knows its server by: SHA-384 of the certificate, in base64. */
export const serverHashOf = (der: Buffer): string => createHash('sha384').update(der).digest('base64')
