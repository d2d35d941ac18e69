import { encodeBody, withSeq } from '@svc/proto'

/** What every agent of a bench says, made once. Their `seq` is always the same: it informs only. */

export const hello: Uint8Array = withSeq(
  1,
  encodeBody({
    hello: {
      protocolMin: 1,
      protocolMax: 1,
      agentVersion: '1.4.2',
      helperVersion: '1.4.2',
      watchdogVersion: '1.4.0',
      os: 'linux',
      arch: 'amd64',
      bootId: '3f0c9a52-6a4e-4a43-9f7e-0d1f6f0a2b11',
      capabilities: ['script', 'inventory'],
    },
  }),
)

/** As an agent's is: versions, load, memory, disk, network. */
export const heartbeat: Uint8Array = withSeq(
  2,
  encodeBody({
    heartbeat: {
      agentVersion: '1.4.2',
      helperVersion: '1.4.2',
      watchdogVersion: '1.4.0',
      uptimeSeconds: 86_400,
      metrics: {
        cpuPercent: 12.5,
        ramPercent: 43.25,
        ramUsedBytes: 7_000_000_000,
        diskPercent: 61,
        diskUsedBytes: 120_000_000_000,
        netInBytes: 1_200_000,
        netOutBytes: 340_000,
        processCount: 212,
      },
      loggedInUser: 'amelia',
      configVersion: 1,
    },
  }),
)

/** Fields of Envelope that a client waits for. */
export const kinds = { welcome: 32, heartbeatAck: 33, command: 34, refused: 41 } as const

/** The number of an envelope's body, which stands behind its `seq`; 0: there is none. Decoding it all would be the client's work, not the server's. */
export function kindOf(envelope: Uint8Array): number {
  let at = 0
  const varint = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = envelope[at++]
      if (byte === undefined) return 0
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  for (let tag = varint(); tag !== 0; tag = varint()) {
    if (tag >>> 3 !== seqField) return tag >>> 3
    varint()
  }
  return 0
}

const seqField = 1
