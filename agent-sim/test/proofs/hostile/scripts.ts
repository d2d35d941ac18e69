import { count, type Counts } from './counts.ts'
import type { Frame, Frames } from './frames.ts'
import { fateOf, type Transport } from './model.ts'

/** Frames of one connection: those that it survives, and the one that ends it, if one does. */
export interface Script {
  kept: Frame[]
  /** of the kept ones, those that are answered */
  answers: number
  last: { frame: Frame; reason: string } | undefined
}

/** Kept frames before the one that ends a connection: coming in costs the gateway more than most frames. */
const [fewest, most] = [4, 36]
/** One connection in so many is torn down by the peer instead. */
const tornOneIn = 8
/** Of what ends a connection there is more than connections are worth: so many of each sort wait for their turn. */
const mostWaiting = 4

/** What is said on one connection after the other, in an order that the seed decides. */
export class Scripts {
  readonly frames: Frames
  readonly random: () => number
  readonly #transport: Transport
  readonly #waiting = new Map<string, NonNullable<Script['last']>[]>()
  readonly #said: Counts = new Map()
  #made = 0

  constructor(frames: Frames, transport: Transport, random: () => number) {
    this.frames = frames
    this.random = random
    this.#transport = transport
  }

  next(): Script {
    const wanted = fewest + Math.floor(this.random() * (most - fewest))
    const torn = ++this.#made % tornOneIn === 0
    const script: Script = { kept: [], answers: 0, last: undefined }
    while (script.kept.length < wanted || !(torn || this.#waiting.size > 0)) this.#draw(script)
    if (!torn) script.last = this.#rarest()
    return script
  }

  #draw(script: Script): void {
    const frame = this.frames.next()
    const fate = fateOf(frame.said, frame.bytes.length, this.#transport)
    if (fate.kind === 'kept') {
      script.kept.push(frame)
      if (fate.answered) script.answers++
      return
    }
    const sort = `${fate.reason} ${frame.said ? String(frame.said['body'] as string | undefined) : frame.mutation}`
    const waiting = this.#waiting.get(sort) ?? []
    if (waiting.length < mostWaiting) this.#waiting.set(sort, [...waiting, { frame, reason: fate.reason }])
  }

  /** Of what waits, the sort that was said least. */
  #rarest(): Script['last'] {
    const often = (sort: string) => this.#said.get(sort) ?? 0
    const [sort = ''] = [...this.#waiting.keys()].toSorted((a, b) => often(a) - often(b))
    const [first, ...rest] = this.#waiting.get(sort) ?? []
    if (rest.length > 0) this.#waiting.set(sort, rest)
    else this.#waiting.delete(sort)
    count(this.#said, sort)
    return first
  }
}
