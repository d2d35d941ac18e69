import type { Bench } from './method/contract.ts'

/** A bench as the command line knows it, before its code is loaded. */
export interface Entry {
  /** one line for people */
  about: string
  /** what `--scale` is when it is not given */
  scale: { full: number; quick: number }
  load: () => Promise<Bench>
}

/** All that can be measured, by its name on the command line. */
export const benches: Record<string, Entry> = {
  api: {
    about: 'one device read, one command created; scale: devices',
    scale: { full: 10_000, quick: 1_000 },
    load: async () => (await import('./api/api.ts')).api,
  },
  list: {
    about: 'the device list, of one tenant and of 1,000; scale: devices',
    scale: { full: 1_000_000, quick: 50_000 },
    load: async () => (await import('./api/list.ts')).list,
  },
  edge: {
    about: 'memory of an idle connection with a full session, over each transport (G2, G2t, G2m)',
    scale: { full: 18_900, quick: 1_000 },
    load: async () => (await import('./edge/memory.ts')).memory,
  },
}
