import type { AgentEvent } from '@svc/agent-sim'

const gatherMs = 500

type Stopped = Extract<AgentEvent, { kind: 'stopped' }>

/** Says in one line which agents of a fleet ended for good, however many at once. */
export class Losses {
  readonly #news: (text: string) => void
  #stopped = new Map<number, Stopped>()
  #replaced = 0
  #running = false
  #telling: NodeJS.Timeout | undefined

  constructor(news: (text: string) => void) {
    this.#news = news
  }

  take(number: number, event: AgentEvent): void {
    if (event.kind === 'connected' && this.#stopped.delete(number)) this.#replaced += 1
    if (event.kind !== 'stopped') return
    this.#stopped.set(number, event)
    if (!this.#running || this.#telling) return
    this.#telling = setTimeout(() => this.#removed(), gatherMs)
  }

  /** Everybody has had the chance to connect: tells of those before, and from now on of each. */
  atStart(): void {
    if (this.#replaced > 0)
      this.#news(`the server no longer wants ${devices(this.#replaced)}: replaced by new ones`)
    const [one] = this.#stopped.values()
    if (one) this.#news(`${devices(this.#stopped.size)} cannot be had: ${one.text || one.reason}`)
    this.#stopped.clear()
    this.#running = true
  }

  #removed(): void {
    const [one] = this.#stopped.values()
    this.#news(
      `${devices(this.#stopped.size)} removed (${one?.reason}); the next \`npm start\` enrolls as many anew`,
    )
    this.#stopped.clear()
    this.#telling = undefined
  }
}

const devices = (count: number) => `${count} simulated device${count === 1 ? '' : 's'}`
