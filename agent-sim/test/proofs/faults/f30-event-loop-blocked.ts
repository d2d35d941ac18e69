import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import { until } from '../../system/harness/until.ts'
import { all, none, type Row, within } from '../verdict.ts'
import type { Fault } from './fault.ts'
import type { Scene } from './scene.ts'

const struck = 0
const standstill = join(import.meta.dirname, '../../system/harness/standstill.mjs')
const overWithinMs = 60_000
const lineWithinMs = 5_000
const unreadyWithinMs = 3_000
/** It stood still for six of ten seconds: that is over ten seconds later. */
const readyWithinMs = 20_000

/** The event loops of a gateway and of a control plane stand still for six seconds, as with work that should not be done there. */
export const eventLoopBlocked: Fault = {
  id: 'F30',
  fault: 'an event loop is blocked',
  expected: 'what it was busy with is in the log; not ready after 5 s; ready again by itself',
  variables: { NODE_OPTIONS: `--import=${standstill}` },
  plant: {
    guard: 'the watch over event loops',
    variables: { SVC_TEST_WITHOUT: 'loop_watch' },
    noticed: /say what they were busy with/,
  },
  run: async (scene) => {
    const { system } = scene
    const programs = [system.gateway(struck), system.controlPlane(struck)]
    const lines = () => programs.map((program) => program.log().split('\n'))
    const before = lines().map(({ length }) => length)
    const since = () => lines().map((said, at) => said.slice(before[at]))
    for (const program of programs) program.signal('SIGUSR2')
    const over = () =>
      since().every((said) => said.some((line) => line.includes('stood still as it was told')))
    await until('it is over', over, overWithinMs)
    const unreadyMs = await spans(scene, 503, unreadyWithinMs)
    await sleep(scene.planted ? 0 : lineWithinMs)
    const told = since().filter((said) =>
      said.some((line) => line.includes('"event":"process.blocked"') && line.includes('standStill')),
    )
    const readyMs = scene.planted ? [] : await spans(scene, 200, readyWithinMs)
    const rows: Row[] = [
      all('programs that say what they were busy with', programs.length, told.length),
      within('it is told that no more should be sent there', unreadyWithinMs, unreadyMs),
    ]
    if (scene.planted) return rows
    const gone = programs.filter(({ pid }) => !isThere(pid)).map(({ pid }) => String(pid))
    return [
      ...rows,
      within('all is well again by itself', readyWithinMs, readyMs),
      none('programs that ended', gone),
    ]
  },
}

/** What both answer when they are asked whether they are ready, and after how long. */
async function spans({ system }: Scene, status: number, withinMs: number): Promise<number[]> {
  const gateway = (system.gatewayUrls[struck] ?? '').replace('ws:', 'http:').replace('/agent', '')
  const began = Date.now()
  return Promise.all(
    [gateway, system.apiUrl].map((url) => {
      const answers = async () => (await fetch(`${url}/health/ready`)).status === status
      return until(`${url} answers ${status}`, answers, withinMs).then(
        () => Date.now() - began,
        () => Number.POSITIVE_INFINITY,
      )
    }),
  )
}

const isThere = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
