import { unclaimable } from '../method/claim.ts'
import type { ResultFile } from '../method/contract.ts'

export interface Named {
  /** of the file, without its folder */
  file: string
  result: ResultFile
}

/** The runs of one bench: the one that its figures are taken from, and those that nothing is taken from. */
export interface Chosen {
  bench: string
  /** the newest full run that was quiet; where there is none, the newest full run */
  run: Named | undefined
  /** quick ones, and disturbed ones that are not `run` */
  passedOver: Named[]
}

const newestFirst = (a: Named, b: Named) =>
  b.result.startedAt.localeCompare(a.result.startedAt) || a.file.localeCompare(b.file)

/** By bench, in the order of their names. */
export function choose(all: readonly Named[]): Chosen[] {
  const benches = [...new Set(all.map(({ result }) => result.bench))].toSorted()
  return benches.map((bench) => {
    const own = all.filter(({ result }) => result.bench === bench).toSorted(newestFirst)
    const full = own.filter(({ result }) => !result.quick)
    const run = full.find(({ result }) => unclaimable(result).length === 0) ?? full[0]
    const passedOver = own.filter((one) => one !== run && unclaimable(one.result).length > 0)
    return { bench, run, passedOver }
  })
}
