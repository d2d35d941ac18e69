import { setTimeout as sleep } from 'node:timers/promises'
import { percentile, within } from '../verdict.ts'
import { longestBurstMs } from './bursts.ts'
import type { Fault } from './fault.ts'
import { homeComing } from './home-coming.ts'

const struck = 0
const mostWithinMs = 60_000
const allWithinMs = 120_000
const burstMs = 5_000

/** Of two gateways one is gone and stays away: its agents go to the other. */
export const gatewayDies: Fault = {
  id: 'F1',
  fault: 'gateway process dies',
  expected: '95 % back elsewhere in 60 s, all in 120 s; no burst of errors > 5 s; a–g',
  plant: {
    guard: 'another gateway to go to: that one is gone, too',
    noticed: /its agents are back/,
  },
  run: async (scene) => {
    const { system, load, props } = scene
    if (scene.planted) await scene.killGateway(1)
    const node = system.nodeOf(struck)
    await scene.killGateway(struck)
    const back = await homeComing(scene, node, scene.planted ? 5_000 : allWithinMs)
    props.say(`${back.length} agents were on it`)
    await sleep(props.pace.commandLeaseMs)
    return [
      within('95 % of its agents are back', mostWithinMs, [percentile(back, 0.95)]),
      within('all of its agents are back', allWithinMs, back),
      within('the longest burst of errors of the API', burstMs, [longestBurstMs(load.failures)]),
    ]
  },
}
