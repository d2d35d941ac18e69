import { behindProxy, type ProxyPlant, proxyPlants } from './proxy/proxy.ts'
import { type RedisAway, redisAway } from './redis-away.ts'
import { restore } from './restore/restore.ts'
import { type TwoNodesPlant, twoNodes, twoNodesPlants } from './two-nodes/two-nodes.ts'
import type { Row } from './verdict.ts'

/** What every proof can be told. */
export type ProofOptions = Omit<RedisAway, 'plant'> & { plant?: string | undefined }

export interface Proof {
  about: string
  /** guards that can be taken away */
  plants: readonly string[]
  /** programs that it needs beside redis-server */
  needs?: readonly 'haproxy'[]
  /** it starts a server of its own */
  ownDatabase?: true
  defaults: { seconds: number; agents: number; rate: number }
  run(options: ProofOptions): Promise<Row[]>
}

/** Long checks of what the product promises, by the name under which they are started. */
export const proofs: Record<string, Proof> = {
  'redis-away': {
    about: 'Redis dies under load and comes back empty: latency, and nothing else',
    plants: ['no-exchange-up'],
    defaults: { seconds: 300, agents: 2_000, rate: 20 },
    run: ({ plant, ...options }) => redisAway({ ...options, ...(plant && { plant: 'no-exchange-up' }) }),
  },
  proxy: {
    about: 'a proxy in front that cuts after 60 s: who called is known, idle agents stay, dead peers go',
    plants: proxyPlants,
    needs: ['haproxy'],
    defaults: { seconds: 600, agents: 1_000, rate: 1 },
    run: ({ plant, ...options }) => behindProxy({ ...options, plants: plant ? [plant as ProxyPlant] : [] }),
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
}
