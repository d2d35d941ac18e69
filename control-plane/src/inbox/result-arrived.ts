import type { Report } from '../engines/work/report.ts'
import type { Item } from './item.ts'

/** Acks, progress and results, in the order they came. */
export const resultsArrived = (items: readonly Item[]): Report[] =>
  items.flatMap((item) => reportOf(item) ?? [])

function reportOf({ node, deviceId, epoch, up }: Item): Report | undefined {
  const from = { deviceId, node, epoch }
  const { commandAck, commandProgress, commandResult } = up
  if (commandAck) return { from, commandId: commandAck.commandId ?? '', said: { kind: 'acked' } }
  if (commandProgress) return { from, commandId: commandProgress.commandId ?? '', said: { kind: 'started' } }
  if (commandResult) {
    return { from, commandId: commandResult.commandId ?? '', said: { kind: 'result', result: commandResult } }
  }
  return undefined
}
