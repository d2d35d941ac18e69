import { setTimeout as sleep } from 'node:timers/promises'
import { none, type Row, within } from '../verdict.ts'
import { lost } from './devices.ts'
import { kinds } from './kinds.ts'
import { type Felt, Holder, whoWaits } from './people.ts'
import { Requests } from './requests.ts'
import { Strike } from './strike.ts'
import { type Administrators, type Blow, blows, requestsOf, type Tenant, tenantAt } from './tenants.ts'
import type { World } from './world.ts'

/** Promise P7. */
export const promisedMs = 5_000
/** Beside that: a refusal is remembered for five seconds. */
const backWithinMs = 5_000 + 2_000
/** Revocations come within so much of each other. */
const spreadMs = 500

/** Tenants that exist to be revoked, by how. */
export type Cast = Map<string, Tenant>

const named: [string, Blow][] = Object.entries(blows)

export async function makeCast(world: World, round: string, agents: number): Promise<Cast> {
  const { system, office, home, listeners } = world
  const made = named.map(async ([how, { partner }], index): Promise<[string, Tenant]> => {
    const partnerId = partner ? await office.make.partner() : home.partnerId
    const name = `${round}-${index}`
    return [how, await tenantAt(system, office, { partnerId, name, agents, gateways: listeners })]
  })
  return new Map(await Promise.all(made))
}

const all = <T, K>(some: readonly T[], of: (one: T) => readonly K[]): K[] => some.flatMap(of)

/** Everything that can be revoked is, at about the same time, in one state of Redis. */
export class Round {
  readonly #world: World
  readonly #state: string
  readonly #strikes: Strike[]
  readonly #holders: Holder[] = []
  #disableWhoWaits = async (): Promise<Felt> => ({ requestsMs: [], wrongAnswers: [] })
  #neighbours = async (): Promise<string[]> => []

  private constructor(world: World, state: string, cast: Cast) {
    this.#world = world
    this.#state = state
    this.#strikes = named.flatMap(([how, blow]) => {
      const tenant = cast.get(how)
      return tenant ? [new Strike(world, how, blow, tenant)] : []
    })
  }

  /** Resolves when everybody is at work. */
  static async prepare(world: World, state: string, cast: Cast): Promise<Round> {
    const round = new Round(world, state, cast)
    const [holders, waits, neighbours] = await Promise.all([
      Promise.all(Object.keys(kinds).map((kind) => Holder.of(world, kind))),
      whoWaits(world),
      neighboursOf(world),
      Promise.all(round.#strikes.map((one, index) => one.begin(round.#admin(index)))),
    ])
    round.#holders.push(...holders)
    round.#disableWhoWaits = waits
    round.#neighbours = neighbours
    return round
  }

  /** @param disturb brings the state about */
  async strike(disturb: () => Promise<void>, random: () => number): Promise<Row[]> {
    const soon = async <T>(act: () => Promise<T>) => {
      await sleep(random() * spreadMs)
      return act()
    }
    const since = Date.now()
    await disturb()
    const [felt, waited, struck] = await Promise.all([
      Promise.all(this.#holders.map((one, index) => soon(() => one.act(index)))),
      soon(this.#disableWhoWaits),
      Promise.all(this.#strikes.map((one, index) => soon(() => one.act(this.#admin(index))))),
    ])
    const row = (what: string) => `${this.#state}: ${what}`
    return [
      within(
        row('requests of people and keys are accepted'),
        promisedMs,
        all(felt, (one) => one.requestsMs),
      ),
      within(
        row('requests of tenants are accepted'),
        promisedMs,
        all(struck, (one) => one.requestsMs),
      ),
      within(row('a request that is under way goes on'), promisedMs, waited.requestsMs),
      within(
        row('connections last'),
        promisedMs,
        all(struck, (one) => one.connectionsMs),
      ),
      none(row('answers that are neither success nor the right refusal'), [
        ...all(felt, (one) => one.wrongAnswers),
        ...all(struck, (one) => one.wrongAnswers),
        ...waited.wrongAnswers,
      ]),
      none(
        row('connections told otherwise, or let in again'),
        all(struck, (one) => one.wrongEnds),
      ),
      none(
        row('revoked devices that are let in'),
        all(struck, (one) => one.letIn),
      ),
      none(
        row('commands that ran and must not'),
        all(struck, (one) => one.wrongCommands),
      ),
      none(row('neighbours’ connections that ended'), lost(this.#world.neighbours.crowd, since)),
      none(row('neighbours’ requests that were refused'), await this.#neighbours()),
    ]
  }

  /** Whoever is out for a while alone is taken back. */
  async takeBack(): Promise<Row[]> {
    const taken = this.#strikes.map((one, index) => one.takeBack(this.#admin(index)))
    const back = await Promise.all(taken)
    const row = (what: string) => `${this.#state}: ${what}`
    return [
      within(
        row('who is suspended no more is kept out'),
        backWithinMs,
        all(back, (one) => one.backMs),
      ),
      none(
        row('commands that waited for that and are not done, once'),
        all(back, (one) => one.wrongCommands),
      ),
    ]
  }

  #admin(index: number): Administrators {
    const found = this.#world.administrators[index % this.#world.administrators.length]
    if (!found) throw new Error('nobody administers')
    return found
  }
}

/** What is asked in the name of those that nothing happens to; the answer is what is wrong with that. */
async function neighboursOf({ office, neighbours, planes }: World): Promise<() => Promise<string[]>> {
  const asked = await requestsOf(office, neighbours)
  const requests = asked.flatMap((one) => planes.map((url) => new Requests(one, url)))
  return async () => {
    await Promise.all(requests.map((one) => one.again()))
    return requests.flatMap((one) => [...one.faults(), ...(one.refused ? [`${one.what} is refused`] : [])])
  }
}
