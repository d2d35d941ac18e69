import { svc } from '@svc/proto'
import { byHand, type Hand } from '../../system/harness/hand.ts'
import type { Accepted } from '../../system/harness/judge.ts'
import { until } from '../../system/harness/until.ts'
import { newScript } from '../../system/harness/work.ts'
import type { Identity } from '../ledgers.ts'
import { enroll } from '../../system/harness/voice.ts'
import type { Scene } from './scene.ts'

/** What a device of this process makes of a command that it is given. */
export type Conduct = 'carries-out' | 'ignores'

/** A connection of a device that this process plays, with its heartbeats. */
export interface Held {
  readonly hand: Hand
  /** ids of the commands that came down it, each as often as it came */
  readonly given: readonly string[]
  /** No more heartbeats. */
  quiet(): void
}

type Body = Parameters<Hand['say']>[0]

/** A device with an own ledger, over as many connections as are wanted, and without any of the product's code for agents. */
export class HandDevice {
  readonly identity: Identity
  conduct: Conduct = 'carries-out'
  /** what its ledger knows: these it does not carry out again */
  readonly ledger = new Set<string>()
  readonly #scene: Scene
  readonly #heartbeatMs: number

  private constructor(scene: Scene, identity: Identity) {
    this.#scene = scene
    this.identity = identity
    this.#heartbeatMs = scene.props.pace.heartbeatMs
  }

  static async enroll(scene: Scene, hostname: string): Promise<HandDevice> {
    return new HandDevice(scene, await enroll(scene.api, scene.system, hostname))
  }

  get id(): string {
    return this.identity.deviceId
  }

  /**
   * Connects at that gateway, and beats unless it is to be quiet from the start. Dropped at the end of the play.
   * @param by a wire to it: its URL
   */
  async connect(gateway: number, { beats = true, by }: { beats?: boolean; by?: string } = {}): Promise<Held> {
    const hand = await byHand(by ?? this.#scene.system.mqttUrls[gateway] ?? '', this.identity.deviceToken)
    const given: string[] = []
    hand.client.on('message', (_topic, payload) => {
      const { command } = svc.v1.Envelope.decode(payload)
      if (command?.body) this.#take(hand, given, svc.v1.CommandBody.decode(command.body).commandId)
    })
    const beat = () => void say(hand, { heartbeat: {} })
    const timer = beats ? setInterval(beat, this.#heartbeatMs) : undefined
    if (beats) beat()
    const quiet = () => clearInterval(timer)
    void hand.closed.then(quiet)
    this.#scene.later(() => {
      quiet()
      hand.drop()
    })
    return { hand, given, quiet }
  }

  /**
   * Asks for a command as an operator does; the checker knows of it.
   * @param more of the request
   * @param expected what must come of it; default: it succeeds
   */
  async order(more: object = {}, expected: Pick<Accepted, 'end' | 'mayEnd'> = {}): Promise<string> {
    const askedAt = Date.now()
    const { payload } = newScript(0)
    const id = await this.#scene.api.send(this.id, 'run_script', payload, more)
    this.#scene.accept({ id, deviceId: this.id, askedAt, ...expected }, payload)
    return id
  }

  /** Resolves when it is online at an epoch above that; its epoch. */
  async known(aboveEpoch = 0, withinMs = 15_000): Promise<number> {
    let epoch = 0
    const isKnown = async () => {
      const [row] = await this.#scene.system.sql<{ epoch: number }[]>`
        select p.epoch from device_presence p join devices d on d.id = p.device_id
        where d.id = ${this.id} and d.connectivity = 'online'`
      epoch = row?.epoch ?? 0
      return epoch > aboveEpoch
    }
    await until('the device is known to be there', isKnown, withinMs)
    return epoch
  }

  /** Carries a command out that it was given, and reports on that connection. */
  carryOut(id: string, { hand }: Pick<Held, 'hand'>): void {
    this.carriedOut(id)
    for (const body of reportsOf(id)) void say(hand, body)
  }

  /** Notes a command as carried out, if it is not yet. */
  carriedOut(id: string): void {
    if (this.ledger.has(id)) return
    this.ledger.add(id)
    this.#scene.effect(id, this.id)
  }

  #take(hand: Hand, given: string[], id: string): void {
    given.push(id)
    if (this.conduct === 'carries-out') this.carryOut(id, { hand })
  }
}

/** What is said of a command that was carried out, in order. */
export const reportsOf = (commandId: string, outcome = svc.v1.Outcome.SUCCEEDED): Body[] => [
  { commandAck: { commandId, attempt: 1 } },
  { commandProgress: { commandId, attempt: 1 } },
  { commandResult: { commandId, attempt: 1, outcome } },
]

/** A connection that ends meanwhile has told nothing; whoever needs it looks at what became of it. */
export const say = (hand: Hand, body: Body): Promise<boolean> =>
  hand.say(body).then(
    () => true,
    () => false,
  )
