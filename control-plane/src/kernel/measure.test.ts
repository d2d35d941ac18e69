import { BlockList } from 'node:net'
import { noTracing } from '@svc/proto/trace'
import fastify from 'fastify'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { routes } from '../areas/index.ts'
import { measure } from './measure.ts'
import { pathsOf } from './mount.ts'
import { traceRequests } from './traces.ts'

/** Each endpoint, asked in three ways that end in three classes of status, for so many devices. */
async function seriesFor(devices: number, labelOf?: (route: string, url: string) => string): Promise<number> {
  const registry = new Registry()
  const app = fastify({ routerOptions: { maxParamLength: 500 } })
  traceRequests(app, new BlockList(), noTracing)
  measure(app, registry, labelOf)
  const each = routes.flatMap(({ method, path }) =>
    pathsOf(path).map((one) => ({ method, url: `/api/v1${one}` })),
  )
  for (const route of each)
    app.route({
      ...route,
      handler: async (request, reply) => reply.code(Number(request.headers['x-status'])).send(''),
    })
  for (const { method, url } of each)
    for (const status of ['200', '404', '500'])
      await app.inject({ method, url: url.replaceAll(/:\w+/g, 'x'), headers: { 'x-status': status } })
  const some = '/api/v1/devices/:id'
  for (let n = 0; n < devices; n++)
    await app.inject({ method: 'GET', url: some.replace(':id', String(n)), headers: { 'x-status': '200' } })
  await app.close()
  const lines = (await registry.metrics()).split('\n')
  return lines.filter((line) => line !== '' && !line.startsWith('#')).length
}

test('every endpoint used, and every class of status, by 5,000 devices: below 4,000 series, and none for a device', {
  timeout: 60_000,
}, async () => {
  const [one, many] = [await seriesFor(1), await seriesFor(5_000)]
  expect(many).toBe(one)
  // What else a control plane shows is below 600.
  expect(many).toBeLessThan(4_000)
  expect(routes.length).toBeGreaterThan(80)
})

test('a label that holds what was asked for would be found out', async () => {
  expect(await seriesFor(200, (_route, url) => url)).toBeGreaterThan((await seriesFor(1)) + 199)
})
