import { setTimeout as sleep } from 'node:timers/promises'
import { presenceRows } from '../../system/harness/presence.ts'
import type { Scene } from './scene.ts'

const lookEveryMs = 100

/** How long it took, from now, until each of the crowd that was on that node was known to be on another, live one; infinite: longer. */
export async function homeComing(
  { system, ids }: Scene,
  node: string,
  patienceMs: number,
): Promise<number[]> {
  const crowd = new Set(ids)
  const began = Date.now()
  const here = async () => (await presenceRows(system.sql)).filter(({ deviceId }) => crowd.has(deviceId))
  const away = new Set((await here()).filter((row) => row.node === node).map(({ deviceId }) => deviceId))
  const back: number[] = []
  for (; away.size > 0 && Date.now() - began < patienceMs; await sleep(lookEveryMs))
    for (const row of await here()) {
      if (!away.has(row.deviceId) || row.node === node || !row.live) continue
      away.delete(row.deviceId)
      back.push(Date.now() - began)
    }
  return [...back, ...[...away].map(() => Number.POSITIVE_INFINITY)]
}
