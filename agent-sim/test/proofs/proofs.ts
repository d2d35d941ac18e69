import { type RedisAway, redisAway } from './redis-away.ts'
import type { Row } from './verdict.ts'

/** What every proof can be told. */
export type ProofOptions = Omit<RedisAway, 'plant'> & { plant?: string | undefined }

export interface Proof {
  about: string
  /** guards that can be taken away */
  plants: readonly string[]
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
}
