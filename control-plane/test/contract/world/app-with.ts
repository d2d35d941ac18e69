import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'
import { afterAll } from 'vitest'
import { buildApp } from '../../../src/app.ts'
import type { Route } from '../../../src/kernel/route.ts'
import type { World } from './things.ts'

/** A second API over the same world, with another table of routes. @param logger default: that of the world's own */
export async function appWith(
  { app, config, core }: World,
  routes: readonly Route[],
  logger: FastifyBaseLogger = app.log,
): Promise<FastifyInstance> {
  const ready = async () =>
    ({ status: 'ready', failing: [], parts: { postgres: 'ok', migrations: 'ok', bus: 'ok' } }) as const
  const other = await buildApp({
    config,
    logger,
    kernel: core.kernel,
    routes,
    registry: new Registry(),
    ready,
  })
  afterAll(() => other.close())
  return other
}
