import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from '../../system/harness/api.ts'
import type { Program } from '../../system/harness/program.ts'
import type { System } from '../../system/harness/system.ts'
import type { Account } from '../account.ts'
import type { Cast } from '../cast.ts'
import type { FleetProcess } from '../fleets.ts'
import type { Effect } from '../ledgers.ts'
import type { Load, Order } from '../load.ts'
import type { OwnPostgres } from '../own-postgres.ts'
import type { Pace } from '../pace.ts'
import type { Wires } from './wires.ts'

type Variables = Record<string, string>

/** What the stage gives to every fault that is played on it. */
export interface Props {
  system: System
  /** of the first gateway and the first control plane; healed at the end of each play */
  wires: Wires
  /** where the first of each shows its metrics */
  metrics: { gateway: number; controlPlane: number }
  /** the administrator's, at the first control plane */
  api: Api
  cast: Cast
  /** agents in a process of their own, with work all the time */
  crowd: FleetProcess
  pace: Pace
  /** how long a fault lasts that lasts */
  seconds: number
  say: (line: string) => void
}

/** What one fault is played with: the stage's props, the load that is on it, and hands that put right again what they broke. */
export class Scene {
  readonly props: Props
  readonly load: Load
  /** of that load */
  readonly account: Account
  readonly random: () => number
  /** the guard is to be taken away */
  readonly planted: boolean
  readonly #postgres: OwnPostgres | undefined
  readonly #mends: (() => unknown)[] = []
  readonly #touched = new Map<string, () => Promise<void>>()
  readonly #effects: Effect[] = []

  constructor(
    props: Props,
    own: {
      load: Load
      account: Account
      random: () => number
      planted: boolean
      postgres: OwnPostgres | undefined
    },
  ) {
    this.props = props
    this.load = own.load
    this.account = own.account
    this.random = own.random
    this.planted = own.planted
    this.#postgres = own.postgres
  }

  get system(): System {
    return this.props.system
  }

  get wires(): Wires {
    return this.props.wires
  }

  get api(): Api {
    return this.props.api
  }

  /** The server under the system, which may be killed. Only for faults that say so. */
  get postgres(): OwnPostgres {
    if (!this.#postgres) throw new Error('this fault does not say that it strikes Postgres')
    return this.#postgres
  }

  /** A metric of the first gateway or control plane: the sum over its labels; 0 where it is not shown. */
  async metric(of: keyof Props['metrics'], name: string): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${this.props.metrics[of]}/metrics`)
    const lines = (await answer.text()).split('\n').filter((line) => /^[\w:]+/.exec(line)?.[0] === name)
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  }

  /** Of the crowd. */
  get ids(): string[] {
    return this.props.crowd.devices.map(({ deviceId }) => deviceId)
  }

  /** Kills that gateway and starts it again, with other variables or as it was; in the end it is as it was. */
  async restartGateway(index: number, variables: Variables = {}): Promise<void> {
    await this.killGateway(index)
    await this.system.startGateway(index, variables)
    if (Object.keys(variables).length === 0) this.#touched.delete(`gateway ${index}`)
  }

  /** As {@link restartGateway}. */
  async restartControlPlane(index: number, variables: Variables = {}): Promise<void> {
    await this.killControlPlane(index)
    await this.system.startControlPlane(index, variables)
    if (Object.keys(variables).length === 0) this.#touched.delete(`control plane ${index}`)
  }

  /** At the end it is there again. */
  async killGateway(index: number): Promise<void> {
    this.#touched.set(`gateway ${index}`, async () => {
      await this.system.gateway(index).kill()
      await this.system.startGateway(index)
    })
    await this.system.gateway(index).kill()
  }

  /** At the end it is there again. */
  async killControlPlane(index: number): Promise<void> {
    this.#touched.set(`control plane ${index}`, async () => {
      await this.system.controlPlane(index).kill()
      await this.system.startControlPlane(index)
    })
    await this.system.controlPlane(index).kill()
  }

  /** Asks that gateway to end, as an operator does; at the end it is there again. */
  endGateway(index: number, how: 'once' | 'twice' = 'once'): Promise<Ended> {
    this.#touched.set(`gateway ${index}`, () => this.system.startGateway(index))
    return endOf(this.system.gateway(index), how)
  }

  /** As {@link endGateway}. */
  endControlPlane(index: number, how: 'once' | 'twice' = 'once'): Promise<Ended> {
    this.#touched.set(`control plane ${index}`, () => this.system.startControlPlane(index))
    return endOf(this.system.controlPlane(index), how)
  }

  /** A command that was accepted beside the load's, by that request: the checker is to know of it. */
  accept(order: Omit<Order, 'acceptedAt'>, { content, key }: { content: string; key?: string }): void {
    this.load.accepted.push({ ...order, acceptedAt: Date.now() })
    this.load.asked.push({ deviceId: order.deviceId, content, ...(key && { key }), told: { id: order.id } })
  }

  /** A device that is played by hand began to carry a command out: the checker is to know of it. */
  effect(commandId: string, deviceId: string): void {
    this.#effects.push({ commandId, deviceId, at: Date.now() })
  }

  /** Of devices that are played by hand. */
  get effects(): readonly Effect[] {
    return this.#effects
  }

  /** Has something done at the end, whatever came of the play; the last first. */
  later(mend: () => unknown): void {
    this.#mends.push(mend)
  }

  /** Puts everything right again. */
  async mend(): Promise<void> {
    await Promise.all([...this.#touched.values()].map((start) => start()))
    this.#touched.clear()
    for (let mend = this.#mends.pop(); mend; mend = this.#mends.pop()) await mend()
  }
}

/** How a program ended that was asked to, and how long it took. */
export interface Ended {
  outcome: string
  ms: number
}

const secondSignalMs = 150
/** Later than any program may take; what is still there is no good end. */
const endedWithinMs = 130_000

async function endOf(program: Program, how: 'once' | 'twice'): Promise<Ended> {
  const began = Date.now()
  program.signal('SIGTERM')
  if (how === 'twice') {
    await sleep(secondSignalMs)
    program.signal('SIGTERM')
  }
  const patience = new AbortController()
  const outcome = await Promise.race([
    program.outcome,
    sleep(endedWithinMs, 'did not end', { signal: patience.signal }),
  ])
  patience.abort()
  if (outcome === 'did not end') await program.kill()
  return { outcome, ms: Date.now() - began }
}
