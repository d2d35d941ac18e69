import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive } from '../../../../tools/services/abandoned.ts'
import { presenceRows } from '../../system/harness/presence.ts'
import { all, none, type Row, within } from '../verdict.ts'
import { call, keepCalling, slowest, type Told, unclear } from './caller.ts'
import type { Fault } from './fault.ts'
import type { Scene } from './scene.ts'

const answersWithinMs = 2_000
/** Of an outage so short that its beginning is most of it, on a machine that does other things. */
const shortAnswersWithinMs = 6_000
const backWithinMs = 10_000
const minuteSeconds = 60

/** Postgres is stopped, and then hangs: its connections stay, and nothing comes back. Of the first control plane what was said then is lost. */
export const postgresAway: Fault = {
  id: 'F6',
  fault: 'Postgres down, and hung',
  expected:
    '503 with retryAfter in 2 s, nothing allowed; connections of agents stay; well 10 s after its return',
  ownPostgres: true,
  plant: {
    guard: 'the pulse, by which it is known that the database is away',
    variables: { SVC_TEST_WITHOUT: 'database_pulse' },
    noticed: /answered, hung/,
  },
  run: async (scene) => {
    const before = await heldBy(scene)
    const rows: Row[] = []
    if (!scene.planted) rows.push(...(await outage(scene, 'down', stopped)))
    rows.push(...(await outage(scene, 'hung', hung)))
    if (scene.planted) return rows
    const after = await heldBy(scene)
    const kept = [...before].filter(([id, epoch]) => after.get(id) === epoch)
    return [...rows, all('agents that kept their connection', before.size, kept.length)]
  },
}

type Outage = (scene: Scene) => Promise<() => Promise<void>>

const stopped: Outage = async ({ postgres }) => {
  await postgres.stop()
  return () => postgres.startAgain()
}

const hung: Outage = async ({ postgres, wires }) => {
  const goOn = () => {
    wires.postgres.silent = false
    postgres.goOn()
  }
  wires.postgres.silent = true
  postgres.hang()
  return async () => goOn()
}

async function outage(scene: Scene, how: string, begin: Outage): Promise<Row[]> {
  const { system, api, props } = scene
  const callers = [0, 1].map((plane) => {
    const { port } = system.controlPlanePorts[plane] ?? {}
    return api.at(`http://127.0.0.1:${port}`)
  })
  const end = await begin(scene)
  const calls = callers.map((caller) => keepCalling(caller, ['GET', '/devices?limit=1']))
  let told: Told[]
  try {
    await sleep(props.seconds * 1_000)
    told = (await Promise.all(calls.map((one) => one.end()))).flat()
  } finally {
    await end()
  }
  const back = Date.now()
  const backMs = await Promise.all(
    callers.map(async (caller) => {
      while ((await call(caller, ['GET', '/devices?limit=1'])).status !== 200 && Date.now() - back < 60_000)
        await sleep(100)
      return Date.now() - back
    }),
  )
  const ended = [0, 1].filter((plane) => !isAlive(system.controlPlane(plane).pid)).map(String)
  const limitMs = props.seconds >= minuteSeconds ? answersWithinMs : shortAnswersWithinMs
  return [
    none(`answers but 503 with retryAfter, ${how}, of ${told.length}`, unclear(told, [])),
    slowest(`p99 of the time until it is answered, ${how}`, limitMs, told),
    within(`it answers again, ${how}`, backWithinMs, backMs),
    none(`control planes that ended, ${how}`, ended),
  ]
}

/** By device, the epoch of its connection. */
async function heldBy({ system, ids }: Scene): Promise<Map<string, number>> {
  const rows = await presenceRows(system.sql)
  return new Map(
    rows.filter((row) => ids.includes(row.deviceId)).map(({ deviceId, epoch }) => [deviceId, epoch]),
  )
}
