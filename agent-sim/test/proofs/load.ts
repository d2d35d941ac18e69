import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Api, ErrorBody } from '../system/harness/api.ts'
import type { Accepted } from '../system/harness/judge.ts'
import { newScript } from '../system/harness/work.ts'
import { pick } from './random.ts'

/** A command that was accepted; times in milliseconds since 1970. */
export interface Order extends Accepted {
  /** when it was asked for: whatever happened to it, happened later */
  askedAt: number
  acceptedAt: number
  /** the request, for who insists */
  asked?: Request
}

interface Request {
  key: string
  body: object
}

/** What a caller does where it is not told that its request was accepted. */
export interface Insistence {
  /** repeats carry the `Idempotency-Key` of the first; without it each is a request of its own */
  withKey: boolean
}

const stepMs = 25
const insistForMs = 60_000
const insistEveryMs = 250
/** What says clearly: not now, try again (docs/status-codes, and what proxies say of servers that are gone). */
const clearStatuses = [429, 502, 503, 504]
/** Scripts run for up to this long. */
export const longestScriptSeconds = 1

/** Commands for random devices at a steady rate. Who insists repeats a request until it is accepted. */
export class Load {
  readonly accepted: Order[] = []
  /** answers other than 201, one line each */
  readonly refused: string[] = []
  /** errors that a repeated request mended, by what was seen */
  readonly mended = new Map<string, number>()
  /** devices that may be picked; may grow */
  readonly targets: string[] = []
  readonly #api: Api
  readonly #random: () => number
  readonly #insistence: Insistence | undefined
  readonly #underWay = new Set<Promise<void>>()
  #ended: Promise<void> | undefined
  #stopped = false

  constructor(api: Api, random: () => number, insistence?: Insistence) {
    this.#api = api
    this.#random = random
    this.#insistence = insistence
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
      if (this.#insistence) {
        const asked = { key: randomUUID(), body: { type: 'run_script', payload } }
        const id = await this.#insist(deviceId, asked, this.#insistence)
        this.accepted.push({ id, deviceId, stdout, askedAt, acceptedAt: Date.now(), asked })
      } else {
        const id = await this.#api.send(deviceId, 'run_script', payload)
        this.accepted.push({ id, deviceId, stdout, askedAt, acceptedAt: Date.now() })
      }
    } catch (error) {
      this.refused.push((error as Error).message)
    }
  }

  /** What is said to requests that were accepted once, asked again with their keys; one line for each that has another answer. */
  async askedAgain(orders: readonly Order[]): Promise<string[]> {
    const answers = orders.map(async ({ id, deviceId, asked }) => {
      if (!asked) return [`command ${id} was asked for without a key`]
      const again = await this.#insist(deviceId, asked, { withKey: true })
      return again === id ? [] : [`command ${id} is ${again} to a second request with its key`]
    })
    return (await Promise.all(answers)).flat()
  }

  /** Rejects when an answer is no clear one, or none accepts it in time. */
  async #insist(deviceId: string, { key, body }: Request, { withKey }: Insistence): Promise<string> {
    const headers: Record<string, string> = withKey ? { 'idempotency-key': key } : {}
    const path = `/devices/${deviceId}/commands`
    const faults: string[] = []
    for (const patience = Date.now() + insistForMs; ; await sleep(insistEveryMs)) {
      const answer = await this.#api
        .ask<{ id: string } & Partial<ErrorBody>>('POST', path, body, headers)
        .catch((error: Error) => error)
      if (!(answer instanceof Error) && answer.status === 201) {
        for (const fault of faults) this.mended.set(fault, (this.mended.get(fault) ?? 0) + 1)
        return answer.body.id
      }
      faults.push(
        answer instanceof Error ? nameOf(answer) : `${answer.status} ${answer.body?.error?.code ?? ''}`,
      )
      if (!isClear(answer)) throw new Error(`an unclear answer: ${faults.at(-1)}`)
      if (Date.now() > patience) throw new Error(`not accepted: ${faults.at(-1)}`)
    }
  }
}

const isClear = (answer: Error | Answer<unknown>): boolean =>
  answer instanceof Error ? true : clearStatuses.includes(answer.status)

/** What the network said, without addresses. */
const nameOf = (error: Error): string => {
  const { code } = (error.cause ?? error) as { code?: string }
  return code ?? error.message
}
