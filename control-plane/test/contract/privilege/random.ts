/** Chance that is the same in every run with the same seed. */
export interface Random {
  /** from 0 up to, and without, `below` */
  whole(below: number): number
  chance(of: number): boolean
  one<T>(list: readonly T[]): T
  some<T>(list: readonly T[]): T[]
}

/** mulberry32, in the public domain. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (below: number) => Math.floor(next() * below)
  return {
    whole,
    chance: (of) => next() < of,
    one: (list) => {
      const found = list[whole(list.length)]
      if (found === undefined) throw new Error('nothing to choose from')
      return found
    },
    some: (list) => list.filter(() => next() < 0.3),
  }
}
