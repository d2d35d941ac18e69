import { setTimeout as sleep } from 'node:timers/promises'
import type { ErrorBody } from '../../system/harness/api.ts'
import { until } from '../../system/harness/until.ts'
import { newScript } from '../../system/harness/work.ts'
import { nameOf, saidBy } from '../load.ts'
import { pick } from '../random.ts'
import type { Scene } from './scene.ts'

/** How often it asks each; for so long it may be wrong about one that is going away. */
const lookEveryMs = 500
const everyMs = 40

/**
 * Callers behind a balancer that asks who is ready, as one in front of the product does. They ask for work without a key and never
 * twice: each request that is not accepted has failed.
 */
export class Balanced {
  /** a line for each request that was not accepted */
  readonly failed: string[] = []
  sent = 0
  readonly #scene: Scene
  readonly #ready: boolean[]
  readonly #looks: number[]
  readonly #underWay = new Set<Promise<void>>()
  #stopped = false
  #running: Promise<unknown> | undefined

  constructor(scene: Scene) {
    this.#scene = scene
    this.#ready = scene.system.controlPlanePorts.map(() => true)
    this.#looks = this.#ready.map(() => 0)
  }

  start(): void {
    this.#running ??= Promise.all([this.#call(), ...this.#ready.map((_, index) => this.#watch(index))])
  }

  /** Resolves when every request has been answered. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
    await Promise.all(this.#underWay)
  }

  /** Resolves when the balancer has just asked that control plane: it will not know better for as long as it can be. */
  looked(index: number): Promise<void> {
    const before = this.#looks[index]
    return until('the balancer has asked', () => this.#looks[index] !== before)
  }

  async #watch(index: number): Promise<void> {
    for (; !this.#stopped; await sleep(lookEveryMs)) {
      this.#ready[index] = await fetch(`${this.#at(index)}/health/ready`).then(
        async (answer) => {
          await answer.arrayBuffer()
          return answer.ok
        },
        () => false,
      )
      this.#looks[index] = (this.#looks[index] ?? 0) + 1
    }
  }

  async #call(): Promise<void> {
    for (let turn = 0; !this.#stopped; await sleep(everyMs)) {
      const at = this.#ready.flatMap((ready, index) => (ready ? [index] : []))
      const index = at[turn++ % at.length] ?? 0
      const one: Promise<void> = this.#send(index).finally(() => this.#underWay.delete(one))
      this.#underWay.add(one)
    }
  }

  async #send(index: number): Promise<void> {
    const { ids, random, load, api } = this.#scene
    const deviceId = pick(ids, random)
    const { payload, stdout } = newScript(0)
    this.sent++
    const askedAt = Date.now()
    const path = `/devices/${deviceId}/commands`
    const answer = await api
      .at(this.#at(index))
      .ask<{ id: string } & Partial<ErrorBody>>('POST', path, { type: 'run_script', payload })
      .catch((error: Error) => error)
    if (!(answer instanceof Error) && answer.status === 201)
      return this.#scene.accept(
        { id: answer.body.id, deviceId, stdout, askedAt },
        { content: payload.content },
      )
    load.asked.push({ deviceId, content: payload.content, told: 'unknown' })
    const said = answer instanceof Error ? nameOf(answer) : saidBy(answer)
    this.failed.push(`control plane ${index}: ${said}`)
  }

  #at(index: number): string {
    return `http://127.0.0.1:${this.#scene.system.controlPlanePorts[index]?.port}`
  }
}
