import type { ResultFile } from './contract.ts'

/** Why no target is claimed from a run; empty: they are. */
export const unclaimable = ({ quick, noisy }: Pick<ResultFile, 'quick' | 'noisy'>): string[] => [
  ...(quick ? ['quick'] : []),
  ...noisy,
]
