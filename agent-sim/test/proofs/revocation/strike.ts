import { setTimeout as sleep } from 'node:timers/promises'
import { type Crowd, startCrowd } from '../../system/harness/crowd.ts'
import { commandRows } from '../../system/harness/judge.ts'
import { until } from '../../system/harness/until.ts'
import { areCut, endsOf, letIn } from './devices.ts'
import { Requests } from './requests.ts'
import { type Administrators, type Blow, requestsOf, type Tenant } from './tenants.ts'
import type { World } from './world.ts'

/** What has not happened by then is taken never to. */
const patienceMs = 8_000
const lookEveryMs = 400

/** What came of a tenant that was revoked. Milliseconds, and lines of what is wrong. */
export interface Struck {
  connectionsMs: number[]
  requestsMs: number[]
  wrongEnds: string[]
  wrongAnswers: string[]
  letIn: string[]
  wrongCommands: string[]
}

export interface Back {
  /** until all of its devices were let in again */
  backMs: number[]
  wrongCommands: string[]
}

/** A tenant that is about to be revoked, seen from outside. */
export class Strike {
  readonly #world: World
  readonly #name: string
  readonly #blow: Blow
  readonly #tenant: Tenant
  #requests: Requests[] = []
  /** given before, and given afterwards: by id */
  #before: string[] = []
  #late: string[] = []

  constructor(world: World, name: string, blow: Blow, tenant: Tenant) {
    this.#world = world
    this.#name = name
    this.#blow = blow
    this.#tenant = tenant
  }

  /** Resolves when everybody is at work. */
  async begin(admin: Administrators): Promise<void> {
    const asked = this.#blow.devicesAlone ? [] : await requestsOf(this.#world.office, this.#tenant)
    this.#requests = asked.flatMap((one) => this.#world.planes.map((url) => new Requests(one, url)))
    this.#before = await this.#send(admin, this.#blow.undo ? 2 : 60)
    await until('all requests are accepted', () => this.#requests.every(({ accepted }) => accepted))
  }

  /** Resolves when it has been felt everywhere, or never will be. */
  async act(admin: Administrators): Promise<Struck> {
    const { crowd } = this.#tenant
    const { reason, undo } = this.#blow
    const began = Date.now()
    await this.#blow.act(admin, this.#tenant)
    const act = { began, acted: Date.now() }
    this.#late = undo ? await this.#send(admin, 0) : []
    const isOver = () => areCut(crowd, crowd.ids, act) && this.#requests.every(({ refused }) => refused)
    await until('it is felt', isOver, patienceMs).catch(() => undefined)
    const admitted = await letIn(this.#world.gateways, crowd, crowd.ids)
    await Promise.all(this.#requests.map((one) => one.again()))
    const ends = endsOf(crowd, crowd.ids, act, reason)
    return {
      connectionsMs: ends.spansMs,
      requestsMs: this.#requests.map((one) => one.acceptedFor(act.acted)),
      wrongEnds: ends.faults.map((fault) => `${this.#name}: ${fault}`),
      wrongAnswers: this.#requests.flatMap((one) => one.faults()),
      letIn: admitted,
      wrongCommands: await this.#wrongWhileOut(),
    }
  }

  /** Of a tenant that is out for a while alone: takes it back. */
  async takeBack(admin: Administrators): Promise<Back> {
    const { undo } = this.#blow
    return undo ? this.#back(() => undo(admin, this.#tenant)) : { backMs: [], wrongCommands: [] }
  }

  /** A script for each device, where somebody is left who may send it. */
  async #send({ partner }: Administrators, seconds: number): Promise<string[]> {
    if (this.#blow.partner) return []
    const payload = { interpreter: 'sh', content: `sleep ${seconds}` }
    return Promise.all(this.#tenant.crowd.ids.map((id) => partner.send(id, 'run_script', payload)))
  }

  /** Nothing that was asked of it since is done; what it had been given before has ended, where that was for good. */
  async #wrongWhileOut(): Promise<string[]> {
    const ran = runsOf(this.#tenant.crowd, this.#late).map((id) => `${this.#name}: ${id} ran`)
    if (this.#blow.undo) return ran
    return [...ran, ...(await this.#notEnded(this.#before, 'cancelled'))]
  }

  async #back(undo: () => Promise<void>): Promise<Back> {
    const { crowd, name, enrollmentKey } = this.#tenant
    await undo()
    const since = performance.now()
    const all = crowd.ids.length * this.#world.gateways.length
    const isIn = async () => {
      await sleep(lookEveryMs)
      return (await letIn(this.#world.gateways, crowd, crowd.ids)).length === all
    }
    const backMs = await until('it is back', isIn, patienceMs).then(
      () => performance.now() - since,
      () => Number.POSITIVE_INFINITY,
    )
    if (!Number.isFinite(backMs)) return { backMs: [backMs], wrongCommands: [] }
    // Machines that are switched on again: those that were refused would wait for up to a minute.
    await crowd.fleet.kill()
    const { listeners, system } = this.#world
    const agents = crowd.ids.length
    this.#tenant.crowd = await startCrowd(system, { agents, name, enrollmentKey, gateways: listeners })
    const given = [...this.#before, ...this.#late]
    const isDone = async () => (await this.#notEnded(given, 'succeeded')).length === 0
    await until('its work is done', isDone, patienceMs).catch(() => undefined)
    const twice = given.filter((id) => runsOf(this.#tenant.crowd, [id]).length !== 1)
    return {
      backMs: [backMs],
      wrongCommands: [
        ...(await this.#notEnded(given, 'succeeded')),
        ...twice.map((id) => `${this.#name}: ${id} did not run once`),
      ],
    }
  }

  async #notEnded(ids: readonly string[], status: string): Promise<string[]> {
    const rows = (await commandRows(this.#world.system.sql)).filter((row) => ids.includes(row.id))
    return rows
      .filter((row) => row.status !== status)
      .map((row) => `${this.#name}: ${row.id} is ${row.status}, not ${status}`)
  }
}

/** The commands that devices of a crowd have begun, each as often as that. */
const runsOf = (crowd: Crowd, ids: readonly string[]): string[] =>
  crowd
    .executions()
    .map(({ commandId }) => commandId)
    .filter((id) => ids.includes(id))
