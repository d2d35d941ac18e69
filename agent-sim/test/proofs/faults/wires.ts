import { Link } from './link.ts'
import { PostgresLink } from './postgres-link.ts'

/** What the first gateway and the first control plane are connected by, and agents where they are to go by wires. */
export interface Wires {
  /** to each place where a gateway listens, in the order of GATEWAY_URLS */
  agents: readonly Link[]
  /** from the first gateway to Redis */
  redis: Link
  /** from the first gateway to all control planes */
  exchange: readonly Link[]
  /** from the first control plane to Redis */
  planeRedis: Link
  /** from the first control plane to Postgres */
  postgres: PostgresLink
}

/** Lays them. @param environment of all programs */
export async function layWires(environment: Readonly<Record<string, string>>): Promise<Wires> {
  const { REDIS_URL = '', EXCHANGE_URL = '', DATABASE_URL = '', GATEWAY_URLS = '' } = environment
  const toAll = (urls: string) => Promise.all(urls.split(',').map((url) => Link.to(url)))
  const [redis, planeRedis, postgres, exchange, agents] = await Promise.all([
    Link.to(REDIS_URL),
    Link.to(REDIS_URL),
    PostgresLink.to(DATABASE_URL),
    toAll(EXCHANGE_URL),
    toAll(GATEWAY_URLS),
  ])
  return { agents, redis, exchange, planeRedis, postgres }
}

/** As the programs are told of them. A gateway knows no database, and a control plane no exchange. */
export const variablesOfGateway = ({ redis, exchange }: Wires): Record<string, string> => ({
  REDIS_URL: redis.url,
  EXCHANGE_URL: exchange.map(({ url }) => url).join(),
})
export const variablesOfPlane = ({ planeRedis, postgres }: Wires): Record<string, string> => ({
  REDIS_URL: planeRedis.url,
  DATABASE_URL: postgres.url,
})

/** Who enrolls at the first control plane goes by wires. */
export const variablesForAgents = ({ agents }: Wires): Record<string, string> => ({
  GATEWAY_URLS: agents.map(({ url }) => url).join(),
})

/** As if they were not there. */
export function heal({ agents, redis, exchange, planeRedis, postgres }: Wires): void {
  for (const link of [...agents, redis, ...exchange, planeRedis])
    Object.assign(link, { mode: 'pass', latencyMs: 0, bytesPerSecond: undefined })
  postgres.heal()
}

/** For good; idempotent. */
export function takeUp({ agents, redis, exchange, planeRedis, postgres }: Wires): void {
  for (const link of [...agents, redis, ...exchange, planeRedis, postgres]) link.close()
}
