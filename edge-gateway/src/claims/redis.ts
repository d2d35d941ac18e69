import { once } from 'node:events'
import type { CloseReason, svc } from '@svc/proto'
import { connection, names } from '@svc/proto/bus'
import type { Redis } from 'ioredis'
import { type Admission, type AdmitRequest, type Claim, type Claims, ClaimsDown } from './claims.ts'
import { type Telling, tellingOf } from './eviction.ts'
import * as script from './script.ts'

type Answer =
  | ['miss']
  | ['refused', CloseReason]
  | ['prove', string]
  | ['admitted', string, string, string, string, string, string]

type HoldAnswer = 'lost' | 'held'

interface Scripts extends Redis {
  claimAdmit(
    key: string,
    tokenSha256: Buffer,
    node: string,
    nowUs: number,
    life: number,
    asked: 0 | 1,
    provenKey: string,
    provenAtUs: number,
    ...telling: Telling
  ): Promise<Answer>
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

  async admit(request: AdmitRequest): Promise<Admission> {
    const { deviceId, tokenSha256, node, nowUs, life, asked, proven } = request
    const answer = await orDown(
      this.#redis.claimAdmit(
        names.device(deviceId),
        tokenSha256,
        node,
        nowUs,
        life,
        asked ? 1 : 0,
        proven?.publicKey ?? '',
        proven?.atUs ?? 0,
        ...tellingOf(deviceId),
      ),
    )
    switch (answer[0]) {
      case 'miss':
        return { kind: 'miss' }
      case 'refused':
        return { kind: 'refused', reason: answer[1] }
      case 'prove':
        return { kind: 'prove', publicKey: answer[1] }
      case 'admitted': {
        const [, epoch, credentialVersion, heartbeatIntervalMs, holder, heldSince, renewAtMs] = answer
        return {
          kind: 'admitted',
          epoch: Number(epoch),
          credentialVersion: Number(credentialVersion),
          heartbeatIntervalMs: Number(heartbeatIntervalMs),
          renewAtMs: Number(renewAtMs),
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
        profile.renewAtMs ?? 0,
        Buffer.from(profile.publicKey ?? []).toString('hex'),
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

  async hold(claims: readonly Claim[]): Promise<Claim[]> {
    const answers = (await this.#all(
      claims.map(({ deviceId, epoch, node }) => [
        'claimHold',
        names.device(deviceId),
        node,
        epoch,
        ...tellingOf(deviceId),
      ]),
    )) as HoldAnswer[]
    return claims.filter((_, i) => answers[i] === 'lost')
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
