/** Real services on loopback, for development and tests: each one a child of this process that does not outlive it. */
export { type Postgres, type PostgresOptions, startPostgres } from './services/postgres.ts'
export { findRedisServer, type Redis, type RedisOptions, startRedis } from './services/redis.ts'
export { haveMqttClients } from './services/mqtt-clients.ts'
export { findProgram, sbin } from './services/program.ts'
export { freePort } from './services/port.ts'
export { removeAbandoned } from './services/abandoned.ts'
