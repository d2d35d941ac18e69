import { Registry } from 'prom-client'
import { afterAll, expect, test } from 'vitest'
import { buildApp } from '../../src/app.ts'
import { routes } from '../../src/areas/index.ts'
import { requester, testApp } from '../harness/app.ts'
import { play } from './privilege/game.ts'

const t = await testApp()

/** The fault that the game is there to find: whatever somebody holds, the ceiling takes it for everything. */
const { kernel } = t.core
const app = await buildApp({
  config: t.config,
  logger: t.app.log,
  kernel: {
    ...kernel,
    identify: async (headers) => ({
      ...(await kernel.identify(headers)),
      permissions: new Set(['*:*'] as const),
    }),
  },
  routes,
  registry: new Registry(),
  ready: async () =>
    ({ status: 'ready', failing: [], parts: { postgres: 'ok', migrations: 'ok', bus: 'ok' } }) as const,
})
afterAll(() => app.close())

test('without the ceiling the same game finds who gained what its maker did not hold', async () => {
  const score = await play({ ...t, request: requester(app) }, 20_261_128, 60)
  expect(score.violations.length).toBeGreaterThan(3)
  expect(score.ceilings).toBe(0)
}, 60_000)
