import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Api, ErrorBody } from '../system/harness/api.ts'
import type { Asked } from '../system/harness/checker/evidence.ts'
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
  /** the time after which it is given up; at least a minute */
  forMs?: number
}

const stepMs = 25
const leastInsistMs = 60_000
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
  /** every request, with what its caller knows of it in the end; those that are under way are not there yet */
  readonly asked: Asked[] = []
  /** errors that a repeated request mended, by what was seen */
  readonly mended = new Map<string, number>()
  /** when a request was not accepted that was repeated then; in milliseconds since 1970 */
  readonly failures: number[] = []
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
    const request: Request = { key: randomUUID(), body: { type: 'run_script', payload } }
    const { withKey } = this.#insistence ?? { withKey: false }
    const about = { deviceId, content: payload.content, ...(withKey && { key: request.key }) }
    const askedAt = Date.now()
    try {
      const id = await this.#accepted(deviceId, request)
      const asked = this.#insistence && { asked: request }
      this.accepted.push({ id, deviceId, stdout, askedAt, acceptedAt: Date.now(), ...asked })
      this.asked.push({ ...about, told: { id } })
    } catch (error) {
      this.refused.push((error as Error).message)
      this.asked.push({ ...about, told: error instanceof ClearNo ? 'refused' : 'unknown' })
    }
  }

  #accepted(deviceId: string, request: Request): Promise<string> {
    return this.#insistence ? this.#insist(deviceId, request, this.#insistence) : this.#ask(deviceId, request)
  }

  /** Once, and without a key. Rejects when it is not accepted. */
  async #ask(deviceId: string, { body }: Request): Promise<string> {
    const path = `/devices/${deviceId}/commands`
    const answer = await this.#api.ask<{ id: string } & Partial<ErrorBody>>('POST', path, body)
    if (answer.status === 201) return answer.body.id
    throw isRefusal(answer) ? new ClearNo(saidBy(answer)) : new Error(saidBy(answer))
  }

  /** What is said to requests that were accepted once, asked again with their keys; one line for each that has another answer. */
  async askedAgain(orders: readonly Order[]): Promise<string[]> {
    const answers = orders.map(async ({ id, deviceId, asked }) => {
      if (!asked) return [`command ${id} was asked for without a key`]
      const again = await this.#insist(deviceId, asked, { ...this.#insistence, withKey: true })
      return again === id ? [] : [`command ${id} is ${again} to a second request with its key`]
    })
    return (await Promise.all(answers)).flat()
  }

  /** Rejects when an answer is no clear one, or none accepts it in time. */
  async #insist(
    deviceId: string,
    { key, body }: Request,
    { withKey, forMs = 0 }: Insistence,
  ): Promise<string> {
    const headers: Record<string, string> = withKey ? { 'idempotency-key': key } : {}
    const path = `/devices/${deviceId}/commands`
    const faults: string[] = []
    const patience = Date.now() + Math.max(leastInsistMs, forMs)
    for (let again = insistEveryMs; ; await sleep(again)) {
      const answer = await this.#api
        .ask<{ id: string } & Partial<ErrorBody>>('POST', path, body, headers)
        .catch((error: Error) => error)
      if (!(answer instanceof Error) && answer.status === 201) {
        for (const fault of faults) this.mended.set(fault, (this.mended.get(fault) ?? 0) + 1)
        return answer.body.id
      }
      this.failures.push(Date.now())
      faults.push(answer instanceof Error ? nameOf(answer) : saidBy(answer))
      // A refusal of the last request says nothing of those before it.
      if (!(answer instanceof Error) && isRefusal(answer) && !isClear(answer) && faults.length === 1)
        throw new ClearNo(saidBy(answer))
      if (!isClear(answer)) throw new Error(`an unclear answer: ${faults.at(-1)}`)
      if (Date.now() > patience) throw new Error(`not accepted: ${faults.at(-1)}`)
      again = Math.max(insistEveryMs, toldToWait(answer))
    }
  }
}

/** The request was understood and not carried out: it made nothing. */
class ClearNo extends Error {}

/** What is said of a request that was not carried out (docs/status-codes); 408 comes of time alone. */
const isRefusal = ({ status }: Answer<unknown>): boolean => status >= 400 && status < 500 && status !== 408

/** The status, and what the server says of it, where it was the server that answered. */
export const saidBy = ({ status, body }: Answer<Partial<ErrorBody>>): string =>
  `${status} ${body?.error ? `${body.error.code}: ${body.error.message}` : ''}`

const isClear = (answer: Error | Answer<unknown>): boolean =>
  answer instanceof Error ? true : clearStatuses.includes(answer.status)

/** In milliseconds; 0 where nothing is said of it. */
const toldToWait = (answer: Error | Answer<Partial<ErrorBody>>): number =>
  answer instanceof Error ? 0 : 1_000 * (answer.body?.retryAfter ?? 0)

/** What the network said, without addresses. */
export const nameOf = (error: Error): string => {
  const { code } = (error.cause ?? error) as { code?: string }
  return code ?? error.message
}
