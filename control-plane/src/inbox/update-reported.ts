import { svc } from '@svc/proto'
import { storable } from '../db/array-literal.ts'
import type { UpdateReport } from '../engines/updates/course.ts'
import type { Item } from './item.ts'

const { UpdatePhase } = svc.v1

const phases: Record<number, UpdateReport['phase'] | undefined> = {
  [UpdatePhase.DOWNLOADING]: 'downloading',
  [UpdatePhase.VERIFYING]: 'verifying',
  [UpdatePhase.BACKING_UP]: 'backing_up',
  [UpdatePhase.SWAPPING]: 'swapping',
  [UpdatePhase.RESTARTING]: 'restarting',
  [UpdatePhase.DONE]: 'done',
  [UpdatePhase.ROLLED_BACK]: 'rolled_back',
  [UpdatePhase.UPDATE_FAILED]: 'failed',
}

const text = (value: string | null | undefined, most: number) => storable((value ?? '').slice(0, most))
const component = (value: string | null | undefined) =>
  (['agent', 'helper'] as const).find((name) => name === value)

/** What agents say of their updates, in the order in which it came. A component or phase that nobody knows is passed over. */
export const updatesReported = (items: readonly Item[]): UpdateReport[] =>
  items.flatMap(({ deviceId, epoch, receivedAtMs, up: { updateStatus } }) => {
    const of = component(updateStatus?.component)
    const phase = phases[updateStatus?.phase ?? 0]
    if (!updateStatus || !of || !phase) return []
    return [
      {
        deviceId,
        epoch,
        receivedAtMs,
        component: of,
        phase,
        fromVersion: text(updateStatus.fromVersion, 60),
        toVersion: text(updateStatus.toVersion, 60),
        reason: text(updateStatus.reason, 200),
        atMs: Number.isSafeInteger(updateStatus.atMs) ? (updateStatus.atMs ?? 0) : 0,
      },
    ]
  })
