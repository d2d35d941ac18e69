import { until } from '../../system/harness/until.ts'
import { type Case, kinds } from './kinds.ts'
import { Requests } from './requests.ts'
import { type Waiting, waitFor } from './waiting.ts'
import type { World } from './world.ts'

/** What is not felt by then is taken never to be. */
const patienceMs = 8_000

/** How long it took, and what was wrong with it. */
export interface Felt {
  requestsMs: number[]
  wrongAnswers: string[]
}

/** Of a right that is to be revoked: one person or key, at work at some control planes. */
export class Holder {
  readonly #case: Case
  readonly #world: World
  readonly #requests: Requests[]

  private constructor(world: World, one: Case, urls: readonly string[]) {
    this.#world = world
    this.#case = one
    this.#requests = urls.map((url) => new Requests(one.asking, url))
  }

  static async of(world: World, kind: string, urls: readonly string[] = world.planes): Promise<Holder> {
    const make = kinds[kind]
    if (!make) throw new Error(`${kind} is no kind of revocation`)
    const holder = new Holder(world, await make(kind, world), urls)
    await until(`${kind} is accepted`, () => holder.#requests.every(({ accepted }) => accepted))
    return holder
  }

  /** @param at which of the control planes is told */
  async act(at: number, withinMs = patienceMs): Promise<Felt> {
    const admin = this.#world.administrators[at % this.#world.administrators.length]?.partner
    if (!admin) throw new Error('nobody administers')
    await this.#case.act(admin)
    const acted = Date.now()
    const isFelt = () => this.#requests.every(({ refused }) => refused)
    await until('it is felt', isFelt, withinMs).catch(() => undefined)
    await Promise.all(this.#requests.map((one) => one.again()))
    return {
      requestsMs: this.#requests.map((one) => one.acceptedFor(acted)),
      wrongAnswers: this.#requests.flatMap((one) => one.faults()),
    }
  }
}

/** Somebody who waits for a command at each control plane, and is disabled meanwhile. */
export async function whoWaits({ office, home, planes, administrators }: World) {
  const user = await office.memberOf(home)
  const token = await user.token()
  const { id } = await office.make.device(home)
  const admin = administrators[0]?.partner
  if (!admin) throw new Error('nobody administers')
  const command = await admin.send(id, 'refresh_inventory')
  const waiting: Waiting[] = planes.map((url) => waitFor(url, token, id, command))
  return async (): Promise<Felt> => {
    await admin.want(200, 'PATCH', `/users/${user.userId}`, { status: 'disabled' })
    const acted = Date.now()
    return {
      requestsMs: await Promise.all(waiting.map((one) => one.lastedFor(acted))),
      wrongAnswers: (await Promise.all(waiting.map((one) => one.faults()))).flat(),
    }
  }
}
