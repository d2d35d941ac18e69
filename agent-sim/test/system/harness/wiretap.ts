import { svc } from '@svc/proto'
import { names } from '@svc/proto/bus'
import { Redis } from 'ioredis'

/** Somebody who can read and write the channel of a gateway in Redis. */
export interface Wiretap {
  /** commands that went to devices since the tap was opened */
  readonly commands: { deviceId: string; command: svc.v1.ICommand }[]
  /** ids of the commands whose results were acknowledged since */
  readonly resultAcks: string[]
  /** Hands the gateway a frame for a device, as the control plane would. */
  deliver(deviceId: string, envelope: svc.v1.IEnvelope): Promise<void>
  close(): void
}

export async function tap(redisUrl: string, node: string): Promise<Wiretap> {
  const [reader, writer] = [new Redis(redisUrl), new Redis(redisUrl)]
  const commands: Wiretap['commands'] = []
  const resultAcks: string[] = []
  reader.on('messageBuffer', (_channel: Buffer, payload: Buffer) => {
    const { deliver } = svc.v1.EdgeMessage.decode(payload)
    const { command, resultAck } = deliver?.frame ? svc.v1.Envelope.decode(deliver.frame) : {}
    if (deliver?.deviceId && command) commands.push({ deviceId: deliver.deviceId, command })
    if (resultAck?.commandId) resultAcks.push(resultAck.commandId)
  })
  await reader.subscribe(names.edge(node))
  return {
    commands,
    resultAcks,
    deliver: async (deviceId, envelope) => {
      const deliver = { deviceId, epoch: 0, frame: svc.v1.Envelope.encode(envelope).finish() }
      const reached = await writer.publish(
        names.edge(node),
        Buffer.from(svc.v1.EdgeMessage.encode({ deliver }).finish()),
      )
      if (reached < 2) throw new Error('the gateway does not listen')
    },
    close: () => {
      reader.disconnect()
      writer.disconnect()
    },
  }
}
