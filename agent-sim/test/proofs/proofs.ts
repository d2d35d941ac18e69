import { hostile, type HostilePlant, hostilePlants } from './hostile/hostile.ts'
import { identity, type IdentityPlant, identityPlants } from './identity/identity.ts'
import { faults } from './faults/faults.ts'
import { playFaults } from './faults/play.ts'
import { behindProxy, type ProxyPlant, proxyPlants } from './proxy/proxy.ts'
import { type PresencePlant, presence, presencePlants } from './presence/presence.ts'
import { type RedisAway, redisAway } from './redis-away.ts'
import { restore } from './restore/restore.ts'
import { type TwoNodesPlant, twoNodes, twoNodesPlants } from './two-nodes/two-nodes.ts'
import { revocation } from './revocation.ts'
import type { Row } from './verdict.ts'

/** What every proof can be told. */
export type ProofOptions = Omit<RedisAway, 'plant'> & {
  plant?: string | undefined
  /** the parts that are wanted; all of them */
  only?: readonly string[] | undefined
  frames?: number
}

export interface Proof {
  about: string
  /** guards that can be taken away */
  plants: readonly string[]
  /** what can be asked for by itself */
  parts?: readonly string[]
  /** programs that it needs beside redis-server */
  needs?: readonly 'haproxy'[]
  /** it starts a server of its own */
  ownDatabase?: true
  defaults: { seconds: number; agents: number; rate: number; frames?: number }
  run(options: ProofOptions): Promise<Row[]>
}

/** `--plant` alone: each part without its guard. */
export const everyGuard = 'each'

/** Long checks of what the product promises, by the name under which they are started. */
export const proofs: Record<string, Proof> = {
  'redis-away': {
    about: 'Redis dies under load and comes back empty: latency, and nothing else',
    plants: ['no-exchange-up'],
    defaults: { seconds: 300, agents: 2_000, rate: 20 },
    run: ({ plant, ...options }) => redisAway({ ...options, ...(plant && { plant: 'no-exchange-up' }) }),
  },
  revocation: {
    about:
      'whatever can be revoked is, with Redis up, hung and gone: it acts within 5 s on requests and connections',
    plants: ['guards'],
    defaults: { seconds: 120, agents: 12, rate: 1 },
    run: ({ plant, ...options }) => revocation({ ...options, ...(plant && { plant: true }) }),
  },
  identity: {
    about:
      'devices renew their tokens while everything dies; copies, stolen tokens and races at enrollment are found',
    plants: identityPlants,
    defaults: { seconds: 120, agents: 20, rate: 1 },
    run: ({ plant, ...options }) => identity({ ...options, plants: plant ? [plant as IdentityPlant] : [] }),
  },
  hostile: {
    about:
      'mutated frames on each transport, ten thousand strangers, slow and torn connections: only their own connection ends',
    plants: hostilePlants,
    defaults: { seconds: 1, agents: 16, rate: 1, frames: 1_000_000 },
    run: ({ plant, frames = 1, ...options }) =>
      hostile({ ...options, frames, ...(plant && { plant: plant as HostilePlant }) }),
  },
  proxy: {
    about: 'a proxy in front that cuts after 60 s: who called is known, idle agents stay, dead peers go',
    plants: proxyPlants,
    needs: ['haproxy'],
    defaults: { seconds: 600, agents: 1_000, rate: 1 },
    run: ({ plant, ...options }) => behindProxy({ ...options, plants: plant ? [plant as ProxyPlant] : [] }),
  },
  presence: {
    about:
      'devices come, take over and go at gateways that stall and die; compared with a model of who is where',
    plants: presencePlants,
    defaults: { seconds: 1, agents: 1_000, rate: 1 },
    run: ({ plant, ...options }) =>
      presence({
        ...options,
        interleavings: plant ? 1_000 : 10_000,
        plant: plant as PresencePlant | undefined,
      }),
  },
  'two-nodes': {
    about: 'two of each behind HAProxy: whatever is killed, nothing is lost or done twice',
    plants: twoNodesPlants,
    needs: ['haproxy'],
    ownDatabase: true,
    defaults: { seconds: 120, agents: 400, rate: 20 },
    run: ({ plant, ...options }) => twoNodes({ ...options, plants: plant ? [plant as TwoNodesPlant] : [] }),
  },
  restore: {
    about: 'the database goes back to an earlier moment, and agents know better: nothing is done twice',
    plants: ['no-notice'],
    ownDatabase: true,
    defaults: { seconds: 60, agents: 300, rate: 20 },
    run: ({ plant, ...options }) => restore({ ...options, ...(plant && { plant: 'no-notice' }) }),
  },
  faults: {
    about:
      'whatever can go wrong does, one after the other: what was accepted is done once, and nothing else happens',
    plants: [everyGuard],
    parts: faults.map(({ id }) => id),
    ownDatabase: true,
    defaults: { seconds: 60, agents: 200, rate: 20 },
    run: ({ plant, only, ...options }) =>
      playFaults(
        faults.filter(({ id }) => only?.includes(id) ?? true),
        { ...options, ownPostgres: true },
        plant !== undefined,
      ),
  },
}
