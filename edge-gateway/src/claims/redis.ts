import { once } from 'node:events'
import type { CloseReason, svc } from '@svc/proto'
import { connection, names } from '@svc/proto/bus'
import type { Redis } from 'ioredis'
import {
  type Admission,
  type AdmitRequest,
  type Claim,
  type Claims,
  ClaimsDown,
  type Held,
} from './claims.ts'
import * as script from './script.ts'

type Answer = ['miss'] | ['refused', CloseReason] | ['admitted', string, string, string, string, string]

/** With `held`: the other node that had the claim, or nothing. */
type HoldAnswer = ['lost'] | ['held', string]

interface Scripts extends Redis {
  claimAdmit(key: string, tokenSha256: Buffer, node: string, nowUs: number, life: number): Promise<Answer>
}

/** A Redis that takes longer counts as away, and admission goes on without it. */
const answerWithinMs = 2000
/** Larger ones would keep others waiting. */
const perRoundTrip = 500

type Command = (string | number | Buffer)[]

/** The claims of all gateways, in Redis. Each operation is one script, each script one round trip. */
export class RedisClaims implements Claims {
  readonly #redis: Scripts

  constructor(url: string) {
    this.#redis = connection(url, { commandTimeout: answerWithinMs, enableAutoPipelining: true }) as Scripts
    const define = (name: string, lua: string) => this.#redis.defineCommand(name, { numberOfKeys: 1, lua })
    define('claimAdmit', script.admit)
    define('claimRemember', script.remember)
    define('claimRevoke', script.revoke)
    define('claimRelease', script.release)
    define('claimHold', script.hold)
  }

  /** Resolves once the server has answered. */
  async ready(): Promise<void> {
    if (this.#redis.status !== 'ready') await once(this.#redis, 'ready')
  }

  async admit({ deviceId, tokenSha256, node, nowUs, life }: AdmitRequest): Promise<Admission> {
    const answer = await orDown(
      this.#redis.claimAdmit(names.device(deviceId), tokenSha256, node, nowUs, life),
    )
    switch (answer[0]) {
      case 'miss':
        return { kind: 'miss' }
      case 'refused':
        return { kind: 'refused', reason: answer[1] }
      case 'admitted': {
        const [, epoch, credentialVersion, heartbeatIntervalMs, holder, heldSince] = answer
        return {
          kind: 'admitted',
          epoch: Number(epoch),
          credentialVersion: Number(credentialVersion),
          heartbeatIntervalMs: Number(heartbeatIntervalMs),
          ...(holder ? { evict: { node: holder, epoch: Number(heldSince) } } : {}),
        }
      }
    }
  }

  async remember(profiles: readonly svc.v1.IDeviceProfile[]): Promise<void> {
    await this.#all(
      profiles.map((profile) => [
        'claimRemember',
        names.device(profile.deviceId ?? ''),
        profile.credentialVersion ?? 0,
        Buffer.from(profile.tokenSha256 ?? []),
        profile.standing ?? 0,
        profile.heartbeatIntervalMs ?? 0,
        profile.epochFloor ?? 0,
        profile.life ?? 0,
      ]),
    )
  }

  async revoke(revocations: readonly svc.v1.IRevocation[]): Promise<void> {
    await this.#all(
      revocations.map(({ deviceId, credentialVersion, life }) => [
        'claimRevoke',
        names.device(deviceId ?? ''),
        credentialVersion ?? 0,
        life ?? 0,
      ]),
    )
  }

  async release(claims: readonly Claim[]): Promise<void> {
    await this.#all(
      claims.map(({ deviceId, epoch, node }) => ['claimRelease', names.device(deviceId), node, epoch]),
    )
  }

  async hold(claims: readonly Claim[]): Promise<Held> {
    const answers = (await this.#all(
      claims.map(({ deviceId, epoch, node }) => ['claimHold', names.device(deviceId), node, epoch]),
    )) as HoldAnswer[]
    const evicted = claims.flatMap(({ deviceId, epoch }, i) => {
      const [answer, node] = answers[i] ?? []
      return answer === 'held' && node ? [{ deviceId, node, epoch }] : []
    })
    return { lost: claims.filter((_, i) => answers[i]?.[0] === 'lost'), evicted }
  }

  async close(): Promise<void> {
    this.#redis.disconnect()
  }

  /** The commands, in few round trips; the first error counts for all. */
  async #all(commands: Command[]): Promise<unknown[]> {
    const answers: unknown[] = []
    for (let at = 0; at < commands.length; at += perRoundTrip)
      answers.push(...(await this.#together(commands.slice(at, at + perRoundTrip))))
    return answers
  }

  async #together(commands: Command[]): Promise<unknown[]> {
    const answers = (await orDown(this.#redis.pipeline(commands).exec())) ?? []
    return answers.map(([error, answer]) => {
      if (error) throw new ClaimsDown(error.message, { cause: error })
      return answer
    })
  }
}

const orDown = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: Error) => {
    throw new ClaimsDown(error.message, { cause: error })
  })
