import type { TestDatabase } from '../../../control-plane/test/harness/database.ts'
import { startSystem, type System } from '../system/harness/system.ts'
import { randomFrom } from './random.ts'
import { openOffice } from './revocation/office.ts'
import { planted, revocationPlants } from './revocation/planted.ts'
import { makeCast, Round } from './revocation/round.ts'
import { type Tenant, tenantAt } from './revocation/tenants.ts'
import { listenersOf, openWorld, planeUrl, twoOfEach, type World } from './revocation/world.ts'
import { passed, type Row, seconds } from './verdict.ts'

export interface Revocation {
  /** goes through the states of Redis until so much time has passed, once at least */
  seconds: number
  /** of each tenant */
  agents: number
  seed: number
  /** takes guards away, of one control plane and one gateway beside those that are judged */
  plant?: boolean
  /** where the rows are kept; by default a database of the test run's server */
  database?: TestDatabase | undefined
  /** told how it goes */
  say: (line: string) => void
}

/** What Redis is doing when something is revoked, and how it comes to that from the one before. */
const states: readonly [string, (system: System) => Promise<void>][] = [
  ['Redis is up', async () => undefined],
  // Nobody has noticed yet when revocations begin.
  ['Redis hangs', async ({ redis }) => void process.kill(redis.pid, 'SIGSTOP')],
  ['Redis is gone', ({ redis }) => redis.kill()],
]

/**
 * Whatever can be revoked is, with Redis up, hung and gone: it acts within five seconds, at every control plane and on every open
 * connection, for those that were meant and nobody else (promise P7).
 */
export async function revocation(options: Revocation): Promise<Row[]> {
  const { database, plant, say } = options
  const each = twoOfEach + (plant ? 1 : 0)
  const system = await startSystem({
    gateways: each,
    controlPlanes: each,
    ...(database && { database }),
    ...(plant && { variablesOfLast: { SVC_TEST_WITHOUT: revocationPlants.join() } }),
  })
  const run = new Run(system, options)
  try {
    return await run.rows()
  } finally {
    say('ending what was started')
    await run.close()
    await system.close()
  }
}

class Run {
  readonly #system: System
  readonly #options: Revocation
  readonly #random: () => number
  readonly #tenants: Tenant[] = []
  #closeOffice = async () => {}

  constructor(system: System, options: Revocation) {
    this.#system = system
    this.#options = options
    this.#random = randomFrom(options.seed)
  }

  async close(): Promise<void> {
    await Promise.all(this.#tenants.map(({ crowd }) => crowd.fleet.kill()))
    await this.#closeOffice()
  }

  async rows(): Promise<Row[]> {
    const office = await openOffice(this.#system)
    this.#closeOffice = () => office.close()
    const world = await openWorld(this.#system, office, this.#options.agents)
    this.#tenants.push(world.neighbours)
    const began = performance.now()
    for (let cycle = 0; ; cycle++) {
      const rows = await this.#cycle(world, cycle)
      if (performance.now() - began >= this.#options.seconds * 1000 || !passed(rows)) return rows
      await this.#system.startRedis()
    }
  }

  async #cycle(world: World, cycle: number): Promise<Row[]> {
    const { agents, say, plant } = this.#options
    const [deaf, ...casts] = await Promise.all([
      plant ? this.#deaf(world, cycle) : undefined,
      ...states.map((_, index) => makeCast(world, `${cycle}-${index}`, agents)),
    ])
    this.#tenants.push(...casts.flatMap((cast) => [...cast.values()]))
    const prepare = async (index: number): Promise<Round | undefined> => {
      const [name] = states[index] ?? []
      const cast = casts[index]
      return name && cast ? Round.prepare(world, name, cast) : undefined
    }
    const rows: Row[] = []
    let atPlanted: Promise<Row[]> | undefined
    let ready = await prepare(0)
    for (const [index, [state, bring]] of states.entries()) {
      const disturb = async () => {
        await bring(this.#system)
        // Without Redis nobody tells a control plane that it is mistaken.
        if (deaf && index === states.length - 1)
          atPlanted = planted(world, planeUrl(this.#system, twoOfEach), deaf)
      }
      const since = performance.now()
      const now = ready
      rows.push(...((await now?.strike(disturb, this.#random)) ?? []))
      say(`${state}: everything was revoked and looked at after ${seconds(performance.now() - since)}`)
      const [back, next] = await Promise.all([now?.takeBack(), prepare(index + 1)])
      rows.push(...(back ?? []))
      ready = next
    }
    return [...rows, ...((await atPlanted) ?? [])]
  }

  /** Its devices are connected at the gateway that is the last one. */
  async #deaf(world: World, cycle: number): Promise<Tenant> {
    const { system, office, home } = world
    const gateways = listenersOf(system, twoOfEach)
    const place = { partnerId: home.partnerId, name: `${cycle}-deaf`, agents: 1, gateways }
    const tenant = await tenantAt(system, office, place)
    this.#tenants.push(tenant)
    return tenant
  }
}
