import { setTimeout as sleep } from 'node:timers/promises'
import { presenceRows } from '../../system/harness/presence.ts'
import { autocorrelation, counted } from '../series.ts'
import { percentile, type Row, seconds, within } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { contactsIn } from './heartbeats.ts'
import type { Scene } from './scene.ts'

const backWithinMs = 180_000
const answeredWithinMs = 2_000
const correlatedBelow = 0.2
/** So many buckets that chance alone comes to 0.2 once in a hundred thousand times; of a fleet on one beat it is two thirds. */
const periods = 4
const bucketsPerPeriod = 200
const lookEveryMs = 250

/**
 * All agents lose their connections at the same moment, three times in a row; twice in a short run.
 * @param admissions of a gateway, in one go and per second; it is felt where a gateway has more than twice as many agents
 * @param retryWindowMs over which at least those are spread who were too many
 */
export const herdAgainst = (admissions: number, retryWindowMs = 5_000): Fault => ({
  id: 'F13',
  fault: 'thundering herd',
  expected: 'all back in 180 s; admissions within the budget; API p99 < 2 s; heartbeats on no common beat',
  wiredAgents: true,
  variables: {
    SVC_TEST_LIMITS: `helloBurst=${admissions},helloPerSecond=${admissions},retryWindowMs=${retryWindowMs}`,
  },
  plant: {
    guard: 'chance, and the limit of admissions: agents draw the same waits, and all are let in at once',
    variables: { SVC_TEST_WITHOUT: 'chance', SVC_TEST_LIMITS: 'helloBurst=10000,helloPerSecond=10000' },
    noticed: /autocorrelation/,
  },
  run: async (scene) => {
    const { heartbeatMs } = scene.props.pace
    const backMs: number[] = []
    const rates: number[] = []
    for (const strike of waysOf(scene)) {
      const { back, mostPerSecond } = await comeBack(scene, strike)
      backMs.push(back)
      rates.push(mostPerSecond)
    }
    const delays = scene.load.accepted.map(({ askedAt, acceptedAt }) => acceptedAt - askedAt)
    // Each has beaten once by then: a herd that comes back together is over, and its echo would be heard.
    await sleep(1.2 * heartbeatMs)
    const from = Date.now()
    const beats = await contactsIn(scene.system.sql, scene.ids, periods * heartbeatMs)
    return [
      within('all are back', backWithinMs, backMs),
      budget(rates, admissions),
      within('99 % of requests are answered', patienceOf(scene), [percentile(delays, 0.99)]),
      onNoBeat(beats, from, heartbeatMs, scene.ids.length),
    ]
  },
})

export const herd = herdAgainst(100)

/** In a short run the machine has other things to do; what it shows is that the herd is spread. */
const patienceOf = ({ props }: Scene): number => (props.seconds < 60 ? 5 : 1) * answeredWithinMs

/** How they are cut off; each resolves when the last one is, with what brings the gateways back. */
function waysOf(scene: Scene): (() => Promise<() => Promise<unknown>>)[] {
  const gateways = [0, 1]
  const restart = () => Promise.all(gateways.map((index) => scene.restartGateway(index)))
  const cut = async () => {
    for (const wire of scene.wires.agents) wire.cut()
    return async () => undefined
  }
  const die = async () => {
    await Promise.all(gateways.map((index) => scene.killGateway(index)))
    return restart
  }
  const drain = async () => {
    await Promise.all(gateways.map((index) => scene.endGateway(index)))
    return restart
  }
  return scene.props.seconds < 60 ? [cut, cut] : [cut, die, drain]
}

/** Strikes; how long until each was admitted again, and how many a gateway admitted in its busiest second. An epoch is a time. */
async function comeBack(scene: Scene, strike: () => Promise<() => Promise<unknown>>) {
  const crowd = new Set(scene.ids)
  const began = Date.now()
  const mend = await strike()
  const cutAt = Date.now()
  await mend()
  const admitted = async () =>
    (await presenceRows(scene.system.sql))
      .filter(({ deviceId, epoch, live }) => crowd.has(deviceId) && live && epoch / 1000 >= began)
      .map(({ node, epoch }) => ({ node, at: epoch / 1000 }))
  let there = await admitted()
  for (; there.length < crowd.size && Date.now() - cutAt < backWithinMs; await sleep(lookEveryMs))
    there = await admitted()
  const back = there.length < crowd.size ? Number.POSITIVE_INFINITY : Date.now() - cutAt
  const nodes = [...new Set(there.map(({ node }) => node))]
  const at = (wanted: string | null) => there.filter(({ node }) => node === wanted).map((one) => one.at)
  const mostPerSecond = Math.max(...nodes.map((node) => busiestSecond(at(node))))
  scene.props.say(`${there.length} are back after ${seconds(back)}, ${mostPerSecond} in the busiest second`)
  return { back, mostPerSecond }
}

/** How many of them lie within one second, at most. */
function busiestSecond(moments: readonly number[]): number {
  const sorted = moments.toSorted((a, b) => a - b)
  let [most, first] = [0, 0]
  for (const [last, moment] of sorted.entries()) {
    while (moment - (sorted[first] ?? moment) >= 1000) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}

/** A full bucket and what flows in within a second; the rest is for who was counted before and is admitted later. */
const allowance = 2.5

const budget = (rates: readonly number[], admissions: number): Row => ({
  what: 'devices that a gateway admits within a second',
  expected: `≤ ${allowance * admissions}`,
  seen: rates.join(', '),
  pass: rates.length > 0 && Math.max(...rates) <= allowance * admissions,
})

/** @param beats contacts, in milliseconds since 1970 */
function onNoBeat(beats: readonly number[], from: number, heartbeatMs: number, agents: number): Row {
  const series = counted(beats, from, heartbeatMs / bucketsPerPeriod, periods * bucketsPerPeriod)
  const found = autocorrelation(series, bucketsPerPeriod)
  const enough = beats.length > 0.7 * agents * periods
  return {
    what: `the autocorrelation of heartbeats at their period of ${seconds(heartbeatMs)}`,
    expected: `< ${correlatedBelow}`,
    seen: `${found.toFixed(2)}, of ${beats.length}${enough ? '' : ', which is too few'}`,
    pass: enough && found < correlatedBelow,
  }
}
