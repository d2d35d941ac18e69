import { svc } from '@svc/proto'
import { offerOwed } from '../../src/engines/work/offer.ts'
import { applyReports, type Report } from '../../src/engines/work/report.ts'
import { type NewCommand, send } from '../../src/engines/work/send.ts'
import { edgeMessages, framesIn, makeNode, type TestPipeline } from './pipeline.ts'

/** A device with a connection to node `n1`. */
export const online = { connectivity: 'online', node: 'n1', epoch: 10 } as const

export const script = {
  type: 'run_script',
  args: { interpreter: 'sh', content: 'true' },
  issuedBy: 'user:1',
} as const
export const processes = { type: 'list_processes', args: {}, issuedBy: 'user:1' } as const
export const inventory = { type: 'refresh_inventory', args: {}, issuedBy: 'system' } as const

export const bytesOf = (bytes: Uint8Array | null | undefined) => bytes ?? new Uint8Array()

/** The commands that frames carry. */
export const idsIn = (frames: svc.v1.Envelope[]) =>
  frames.map((frame) => svc.v1.CommandBody.decode(bytesOf(frame.command?.body)).commandId)

/** What a device of `n1` says about a command. */
export const report = (deviceId: string, commandId: string, said: Report['said'], epoch = 10): Report => ({
  from: { deviceId, node: 'n1', epoch },
  commandId,
  said,
})

/** A result, successful unless told otherwise. */
export const result = (said: svc.v1.ICommandResult = {}) => ({
  kind: 'result' as const,
  result: { outcome: svc.v1.Outcome.SUCCEEDED, ...said },
})

/** Commands on a pipeline from both of their ends: sent by someone, offered to and reported by devices of node `n1`. */
export async function workOn(on: TestPipeline) {
  const { sql, db, bus, deps } = on
  const grace = deps.ports.config.pipeline.deadlineGraceMs
  const gateway = await edgeMessages(bus, 'n1')

  /** The frames that went out since the last look. */
  const takeFrames = async () => {
    await new Promise((resolve) => setImmediate(resolve))
    const frames = framesIn(gateway)
    gateway.length = 0
    return frames
  }

  return {
    /** Forgets devices and commands; the node is there. */
    clear: async () => {
      await sql`truncate devices, device_presence, gateway_nodes, outbox, commands cascade`
      await makeNode(on, 'n1')
      gateway.length = 0
    },
    queue: async (deviceId: string, command: NewCommand = script): Promise<string> => {
      const sent = await db.tx((tx) => send(tx, { deviceId, ...command }))
      if (!sent) throw new Error('not sent')
      return sent.id
    },
    statusOf: async (id: string) =>
      (await sql<{ status: string }[]>`select status from commands where id = ${id}`)[0]?.status,
    apply: (...reports: Report[]) => db.tx((tx) => applyReports(tx, reports, grace)),
    takeFrames,
    /** What the device is sent when it is its turn. */
    offered: async (deviceId: string) => {
      await offerOwed(db, deps.ports, [deviceId])
      return takeFrames()
    },
  }
}
