import type { Bench } from './method/contract.ts'

/** A bench as the command line knows it, before its code is loaded. */
export interface Entry {
  /** one line for people */
  about: string
  /** what `--scale` is when it is not given, and what it counts */
  scale: { full: number; quick: number; of: string }
  load: () => Promise<Bench>
}

/** All that can be measured, by its name on the command line. */
export const benches: Record<string, Entry> = {
  api: {
    about: 'one device read, one command created, and the event loop meanwhile (A1, A2, A4)',
    scale: { full: 10_000, quick: 1_000, of: 'devices' },
    load: async () => (await import('./api/api.ts')).api,
  },
  list: {
    about: 'the device list, of one tenant and of 1,000 (A3)',
    scale: { full: 1_000_000, quick: 50_000, of: 'devices' },
    load: async () => (await import('./api/list.ts')).list,
  },
  audit: {
    about: 'the audit log of one partner: pages by all kinds of filters, searches, figures (A7)',
    scale: { full: 1_000_000, quick: 20_000, of: 'rows' },
    load: async () => (await import('./api/audit.ts')).audit,
  },
  seal: {
    about: 'a write of the audit log while rows are sealed, and while none are (A7)',
    scale: { full: 300, quick: 100, of: 'writes a second' },
    load: async () => (await import('./api/seal.ts')).seal,
  },
  command: {
    about: 'a command, from the request over the device and back to the caller (G5)',
    scale: { full: 18_800, quick: 500, of: 'agents' },
    load: async () => (await import('./api/command.ts')).command,
  },
  logins: {
    about: '/health while many log in at once (A6)',
    scale: { full: 500, quick: 500, of: 'logins at once' },
    load: async () => (await import('./api/logins.ts')).logins,
  },
  start: {
    about: 'npm start, second run, to the first request served (A5)',
    scale: { full: 200, quick: 3, of: 'simulated agents' },
    load: async () => (await import('./api/start.ts')).start,
  },
  edge: {
    about: 'memory of an idle connection with a full session, over each transport (G2, G2t, G2m)',
    scale: { full: 18_800, quick: 500, of: 'connections' },
    load: async () => (await import('./edge/memory.ts')).memory,
  },
  accept: {
    about: 'CPU of an authenticated connect, with its claim in Redis (G3)',
    scale: { full: 18_800, quick: 500, of: 'connections' },
    load: async () => (await import('./edge/accept.ts')).accept,
  },
  heartbeat: {
    about:
      'CPU of a heartbeat: of the gateway alone, and of all that is between agent and committed row (G4, G4b)',
    scale: { full: 1_000_000, quick: 50_000, of: 'rows; a fiftieth of them is connected' },
    load: async () => (await import('./edge/heartbeat.ts')).heartbeat,
  },
  fanout: {
    about: 'CPU of one message delivered to every agent of a gateway (G6)',
    scale: { full: 18_800, quick: 500, of: 'connections' },
    load: async () => (await import('./edge/fanout.ts')).fanout,
  },
}
