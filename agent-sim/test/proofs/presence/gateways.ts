import { setTimeout as sleep } from 'node:timers/promises'
import type { System } from '../../system/harness/system.ts'

/** The gateways over their lives: each start is another one, with a name of its own. */
export class Gateways {
  readonly #system: System
  /** the present life of each */
  readonly #lives: number[]
  /** by life */
  readonly #nodes = new Map<number, string>()
  readonly #dead = new Set<number>()
  readonly #paused = new Set<number>()
  /** by life, in milliseconds since 1970: it had its lease by then */
  readonly #upAt = new Map<number, number>()
  pauses = 0
  deaths = 0

  constructor(system: System) {
    this.#system = system
    this.#lives = system.gatewayUrls.map((_, index) => index)
    for (const life of this.#lives) this.#nodes.set(life, system.nodeOf(life))
    for (const life of this.#lives) this.#upAt.set(life, Date.now())
  }

  get count(): number {
    return this.#lives.length
  }

  url(index: number): string {
    return this.#system.gatewayUrls[index] ?? ''
  }

  lifeOf(index: number): number {
    return this.#lives[index] ?? -1
  }

  /** The name by which that life holds devices. */
  nodeOf(life: number): string | undefined {
    return this.#nodes.get(life)
  }

  /** Whether that life lost its lease and took it anew: what it holds may count as offline until it is heard of again. */
  hasLapsed(life: number, leasedSince: Date | null): boolean {
    return (leasedSince?.getTime() ?? 0) > (this.#upAt.get(life) ?? 0)
  }

  isDead = (life: number): boolean => this.#dead.has(life)

  /** Whether a name is one of a life that is over. */
  isDeadNode(node: string): boolean {
    return [...this.#nodes].some(([life, name]) => name === node && this.#dead.has(life))
  }

  isPaused(life: number): boolean {
    return this.#paused.has(life)
  }

  /** Stops it for a while, as a machine that swaps or a hypervisor does; then it goes on with what it believes. */
  async pause(index: number, ms: number): Promise<void> {
    const program = this.#system.gateway(index)
    const life = this.lifeOf(index)
    program.signal('SIGSTOP')
    this.#paused.add(life)
    this.pauses++
    try {
      await sleep(ms)
    } finally {
      program.signal('SIGCONT')
      this.#paused.delete(life)
    }
  }

  /** Ends it without a word and starts it again. */
  async die(index: number): Promise<void> {
    this.#dead.add(this.lifeOf(index))
    const next = this.#nodes.size
    this.#lives[index] = next
    this.#nodes.set(next, '')
    await this.#system.gateway(index).kill()
    this.deaths++
    await this.#system.startGateway(index)
    this.#nodes.set(next, this.#system.nodeOf(index))
    this.#upAt.set(next, Date.now())
  }
}
