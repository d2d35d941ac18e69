import { pick, randomFrom } from '../random.ts'
import { decode, type Said } from './decode.ts'
import { byteMutations, fieldMutations, noise, type Patient, type Place } from './mutate.ts'
import { upKinds } from './model.ts'
import { readSchema, type Schema } from './schema.ts'
import { seeds } from './seeds.ts'
import { bytesOf, type Part, treeOf } from './tree.ts'

/** A frame to be said, and what our own decoder makes of it. */
export interface Frame {
  bytes: Buffer
  /** what was done to a valid one */
  mutation: string
  /** undefined: it does not decode */
  said: Said | undefined
}

const ways = [...Object.keys(fieldMutations), ...Object.keys(byteMutations), 'noise']
/** Every way that a frame can be made wrong. */
export const mutations: readonly string[] = ways

/** Mutated valid frames of every kind, the same for the same seed: each way in turn, on one frame after the other. */
export class Frames {
  readonly schema: Schema = readSchema()
  readonly #random: () => number
  readonly #trees: readonly Part[][]
  /** of agents, by kind; and what only gateways say, together */
  readonly #byKind: readonly (readonly Part[][])[]
  #turn = 0

  constructor(seed: number) {
    this.#random = randomFrom(seed)
    const all = seeds().map(({ kind, frame }) => ({ kind, tree: treeOf(this.schema, 'Envelope', frame) }))
    this.#trees = all.map(({ tree }) => tree)
    this.#byKind = [...upKinds, undefined].map((wanted) =>
      all
        .filter(({ kind }) => (upKinds.find((one) => one === kind) ?? undefined) === wanted)
        .map(({ tree }) => tree),
    )
  }

  next(): Frame {
    const mutation = ways[this.#turn++ % ways.length] ?? ''
    const bytes = this.#mutated(mutation)
    return { bytes, mutation, said: decode(this.schema, 'Envelope', bytes) }
  }

  #mutated(mutation: string): Buffer {
    if (mutation === 'noise') return noise(this.#random)
    const change = fieldMutations[mutation]
    if (!change) return byteMutations[mutation]?.(bytesOf(this.#tree()), this.#random) ?? Buffer.alloc(0)
    for (;;) {
      const patient = this.#patient()
      if (change(patient, this.#random)) return bytesOf(patient.frame)
    }
  }

  #tree(): Part[] {
    return pick(pick(this.#byKind, this.#random), this.#random)
  }

  #patient(): Patient {
    const places: Place[] = []
    const copy = (type: string, parts: readonly Part[]): Part[] => {
      const message = this.schema.messages.get(type)
      const own = parts.map(
        (part): Part => ('inner' in part ? { ...part, inner: copy(part.type, part.inner) } : part),
      )
      if (message) places.push({ message, parts: own })
      return own
    }
    return { schema: this.schema, frame: copy('Envelope', this.#tree()), places, others: this.#trees }
  }
}
