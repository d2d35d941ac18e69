import { setTimeout as sleep } from 'node:timers/promises'
import { PresenceWatch } from '../../system/harness/presence.ts'
import { all, none, type Row, within } from '../verdict.ts'
import { Balanced } from './balanced.ts'
import type { Fault } from './fault.ts'
import { homeComing } from './home-coming.ts'
import type { Scene } from './scene.ts'

const [first, second] = [0, 1]
const exitWithinMs = 90_000
const hurriedMs = 5_000
/** Beside its window: a gateway's grace, and until a worker has seen where they are. */
const beyondWindowMs = 10_000
/** For a balancer to notice: four looks of {@link Balanced}. */
const lameDuckMs = 2_000
/** While one program is away. */
const betweenMs = 1_000

/** Gateways and control planes are asked to end under load, and come back, as when a new version is laid out. */
export const deploy: Fault = {
  id: 'F14',
  fault: 'graceful deploy',
  expected:
    'all moved in the window, nobody offline; no call failed; exit 0 in 90 s; a second signal at once',
  variables: { DRAIN_DELAY_MS: String(lameDuckMs) },
  plant: {
    guard: 'the time in which a control plane is not ready and still answers',
    variables: { DRAIN_DELAY_MS: '0' },
    noticed: /calls without a key/,
  },
  run: async (scene) => {
    const callers = new Balanced(scene)
    const watch = new PresenceWatch(scene.system.sql)
    const rows: Row[] = []
    callers.start()
    try {
      await sleep(betweenMs)
      if (!scene.planted) rows.push(...(await gatewayLeaves(scene)))
      rows.push(...(await planeLeaves(scene, callers)))
    } finally {
      await callers.stop()
    }
    // Devices that were played by hand before are gone for good.
    const offline = [...(await watch.stop()).keys()].filter((id) => scene.ids.includes(id))
    rows.push(
      none(`calls without a key that failed, of ${callers.sent}`, callers.failed),
      none('devices that counted as offline', offline),
    )
    // How they end while they start: control-plane/src/ends.e2e.test.ts, edge-gateway/src/main.redis.test.ts.
    return scene.planted ? rows : [...rows, ...(await twice(scene))]
  },
}

async function gatewayLeaves(scene: Scene): Promise<Row[]> {
  const { system, props } = scene
  const node = system.nodeOf(first)
  const moved = homeComing(scene, node, exitWithinMs)
  const { outcome, ms } = await scene.endGateway(first)
  const windowMs = Number(/"withinMs":(\d+)/.exec(system.gateway(first).log())?.[1] ?? Number.NaN)
  const back = await moved
  props.say(`${back.length} agents were asked to move within ${windowMs} ms; it took ${ms} ms to end`)
  await scene.restartGateway(first)
  return [
    within('a gateway’s agents are elsewhere', windowMs + beyondWindowMs, back),
    ...politeEnd('a gateway', outcome, ms),
  ]
}

async function planeLeaves(scene: Scene, callers: Balanced): Promise<Row[]> {
  await callers.looked(first)
  const { outcome, ms } = await scene.endControlPlane(first)
  await sleep(betweenMs)
  await scene.restartControlPlane(first)
  return politeEnd('a control plane', outcome, ms)
}

const politeEnd = (who: string, outcome: string, ms: number): Row[] => [
  within(`${who} that was asked to end has ended`, exitWithinMs, [ms]),
  none(`how else than with 0 ${who} ended`, outcome === 'ended with code 0' ? [] : [outcome]),
]

/** The gateway with most of the agents, and a control plane that would wait for its balancer. */
async function twice(scene: Scene): Promise<Row[]> {
  const gateway = await scene.endGateway(second, 'twice')
  await scene.restartGateway(second)
  const plane = await scene.endControlPlane(second, 'twice')
  await scene.restartControlPlane(second)
  const hurried = [gateway, plane].filter(({ outcome }) => /with (code (130|1)|SIGTERM)$/.test(outcome))
  return [
    within('after a second signal it is gone', hurriedMs, [gateway.ms, plane.ms]),
    all('programs that say that they were in a hurry', 2, hurried.length),
  ]
}
