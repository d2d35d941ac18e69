import { fromWire } from '@svc/proto/trace'
import type { Report } from '../engines/work/report.ts'
import type { Item } from './item.ts'

/** Acks, progress and results, in the order they came. */
export const resultsArrived = (items: readonly Item[]): Report[] =>
  items.flatMap((item) => reportOf(item) ?? [])

function reportOf({ node, deviceId, epoch, up }: Item): Report | undefined {
  const from = { deviceId, node, epoch }
  const trace = fromWire(up.trace)
  const { commandAck, commandProgress, commandResult } = up
  if (commandAck) return { from, commandId: commandAck.commandId ?? '', trace, said: { kind: 'acked' } }
  if (commandProgress)
    return { from, commandId: commandProgress.commandId ?? '', trace, said: { kind: 'started' } }
  if (commandResult) {
    return {
      from,
      commandId: commandResult.commandId ?? '',
      trace,
      said: { kind: 'result', result: commandResult },
    }
  }
  return undefined
}
