import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from '../system/harness/api.ts'
import type { Accepted } from '../system/harness/judge.ts'
import { newScript } from '../system/harness/work.ts'
import { pick } from './random.ts'

/** A command that was accepted; times in milliseconds since 1970. */
export interface Order extends Accepted {
  /** when it was asked for: whatever happened to it, happened later */
  askedAt: number
  acceptedAt: number
}

const stepMs = 25
/** Scripts run for up to this long. */
export const longestScriptSeconds = 1

/** Commands for random devices at a steady rate. */
export class Load {
  readonly accepted: Order[] = []
  /** answers other than 201, one line each */
  readonly refused: string[] = []
  /** devices that may be picked; may grow */
  readonly targets: string[] = []
  readonly #api: Api
  readonly #random: () => number
  readonly #underWay = new Set<Promise<void>>()
  #ended: Promise<void> | undefined
  #stopped = false

  constructor(api: Api, random: () => number) {
    this.#api = api
    this.#random = random
  }

  start(perSecond: number): void {
    this.#ended ??= this.#run(perSecond)
  }

  /** Resolves when every request has been answered. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#ended
    await Promise.all(this.#underWay)
  }

  async #run(perSecond: number): Promise<void> {
    const began = performance.now()
    for (let sent = 0; !this.#stopped; await sleep(stepMs))
      for (; sent < ((performance.now() - began) / 1000) * perSecond; sent++) {
        const one: Promise<void> = this.#send().finally(() => this.#underWay.delete(one))
        this.#underWay.add(one)
      }
  }

  async #send(): Promise<void> {
    const deviceId = pick(this.targets, this.#random)
    const { payload, stdout } = newScript(this.#random() * longestScriptSeconds)
    const askedAt = Date.now()
    try {
      const id = await this.#api.send(deviceId, 'run_script', payload)
      this.accepted.push({ id, deviceId, stdout, askedAt, acceptedAt: Date.now() })
    } catch (error) {
      this.refused.push((error as Error).message)
    }
  }
}
