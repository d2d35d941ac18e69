import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../system/harness/until.ts'
import type { Row } from '../verdict.ts'
import { all, within } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { HandDevice } from './hand-device.ts'
import type { Scene } from './scene.ts'

const struck = 0
/** Descriptors that are free when it begins. */
const room = 24
const noticedWithinMs = 15_000
const backWithinMs = 20_000
/** Of a processor, over that long, and however busy the machine is: who spins takes all of one that it gets. */
const [shareAtMost, overMs] = [0.5, 2_000]
const plantedPatienceMs = 3_000

/** Strangers take all descriptors that a gateway has left, and go again. */
export const descriptorsRunOut: Fault = {
  id: 'F28',
  fault: 'a gateway’s file descriptors run out',
  expected: 'accept pauses, existing work goes on, alarm; no spin; all is well when sockets close',
  plant: {
    guard: 'the pause before they have run out',
    variables: { SVC_TEST_WITHOUT: 'descriptor_guard' },
    noticed: /share of a processor/,
  },
  run: async (scene) => {
    const { system, planted } = scene
    const device = await HandDevice.enroll(scene, 'among-strangers')
    const held = await device.connect(struck)
    await device.known()
    const { pid } = system.gateway(struck)
    const before = limitOf(pid)
    scene.later(() => limit(pid, before))
    const strangers = new Strangers(system.gatewayUrls[struck] ?? '')
    scene.later(() => strangers.leave())
    limit(pid, `${readdirSync(`/proc/${pid}/fd`).length + room}:`)
    strangers.come()
    const began = Date.now()
    const paused = async () => (await scene.metric('gateway', 'svc_edge_paused')) === 1
    const noticedMs = await until('it pauses', paused, planted ? plantedPatienceMs : noticedWithinMs).then(
      () => Date.now() - began,
      () => Number.POSITIVE_INFINITY,
    )
    const share = await busyShare(pid)
    if (planted) return [shareRow(share)]
    const id = await device.order()
    await until('it is given a command', () => held.given.includes(id))
    strangers.leave()
    const backMs = await isOpenAgain(scene)
    return [
      within('it says that it does not listen', noticedWithinMs, [noticedMs]),
      shareRow(share),
      all('commands given to a device that was in', 1, held.given.filter((one) => one === id).length),
      within('newcomers are let in once strangers have gone', backWithinMs, [backMs]),
    ]
  },
}

const shareRow = (share: number): Row => ({
  what: 'share of a processor that it takes meanwhile',
  expected: `< ${shareAtMost}`,
  seen: share.toFixed(2),
  pass: share < shareAtMost,
})

/** Connections that say nothing, and come again as long as they are wanted. */
class Strangers {
  readonly #port: number
  readonly #sockets = new Set<Socket>()
  #timer: NodeJS.Timeout | undefined

  constructor(url: string) {
    this.#port = Number(new URL(url).port)
  }

  /** Never more than twice of what there is room for. */
  come(): void {
    this.#timer = setInterval(() => {
      if (this.#sockets.size >= 2 * room) return
      const socket = connect(this.#port, '127.0.0.1')
      this.#sockets.add(socket)
      socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket))
    }, 20)
  }

  /** Idempotent. */
  leave(): void {
    clearInterval(this.#timer)
    for (const socket of this.#sockets) socket.destroy()
  }
}

async function isOpenAgain(scene: Scene): Promise<number> {
  const began = Date.now()
  const device = await HandDevice.enroll(scene, 'after-strangers')
  const isIn = async () => {
    const held = await device.connect(struck).catch(() => undefined)
    return held !== undefined
  }
  return until('a newcomer is in', isIn, backWithinMs).then(
    () => Date.now() - began,
    () => Number.POSITIVE_INFINITY,
  )
}

/** prlimit(1). @param nofile the soft limit, `:` and the hard one, where that changes */
const limit = (pid: number, nofile: string) =>
  void execFileSync('prlimit', ['--pid', String(pid), `--nofile=${nofile}`])

const limitOf = (pid: number): string => {
  const [, soft = '', hard = ''] =
    /^Max open files\s+(\S+)\s+(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8')) ?? []
  return `${soft}:${hard}`
}

/** Of the time that its event loop ran or waited for a processor (proc(5), schedstat). */
async function busyShare(pid: number): Promise<number> {
  const busyMs = () => {
    const [running = 0, waiting = 0] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number)
    return { running: running / 1e6, waiting: waiting / 1e6 }
  }
  const [before, began] = [busyMs(), performance.now()]
  await sleep(overMs)
  const after = busyMs()
  // On a busy machine it gets less than it could take: what it waits for is left out of both.
  const waited = after.waiting - before.waiting
  return (after.running - before.running) / Math.max(1, performance.now() - began - waited)
}
