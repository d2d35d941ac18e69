import { expect, test } from 'vitest'
import { importsOf } from './layers/imports.ts'
import { rules, violations } from './layers/rules.ts'
import { readSources } from './layers/sources.ts'

/** For each rule a file that breaks it, and one next to it that does not. */
const planted: Record<string, { bad: [path: string, text: string]; good: [path: string, text: string] }> = {
  'packages import each other by name only': {
    bad: ['control-plane/src/app.ts', `import { svc } from '../../proto/src/index.ts'`],
    good: ['control-plane/src/app.ts', `import { svc } from '@svc/proto'`],
  },
  'proto imports nothing of ours': {
    bad: ['proto/src/codec.ts', `export { buildGateway } from '@svc/edge-gateway'`],
    good: ['proto/src/codec.ts', `import { svc } from './gen/svc.js'`],
  },
  'of our packages control plane, gateway and agent import proto alone': {
    bad: ['edge-gateway/src/gateway.ts', `const it = await import('@svc/control-plane')`],
    good: ['edge-gateway/src/gateway.ts', `import type { Bus } from '@svc/proto/bus'`],
  },
  'control plane: areas → engines → kernel → adapters, inbox → engines': {
    bad: [
      'control-plane/src/kernel/mount.ts',
      `import type {\n  Device,\n} from '../areas/fleet/devices/schema.ts'`,
    ],
    good: ['control-plane/src/engines/work/send.ts', `import type { Ctx } from '../../kernel/context.ts'`],
  },
  'settings import nothing but settings': {
    bad: ['control-plane/src/config.ts', `import { ApiError } from './kernel/errors.ts'`],
    good: ['control-plane/src/config.ts', `import { Pipeline } from './pipeline.ts'`],
  },
  'an area knows of another its service.ts and schema.ts alone': {
    bad: [
      'control-plane/src/areas/fleet/agents/service.ts',
      `import { findSite } from '../../tenancy/orgs/sites/queries.ts'`,
    ],
    good: [
      'control-plane/src/areas/fleet/agents/service.ts',
      `import { siteOf } from '../../tenancy/orgs/sites/service.ts'`,
    ],
  },
  'queries.ts imports types of the kernel and its own area’s shapes': {
    bad: [
      'control-plane/src/areas/fleet/agents/queries.ts',
      `import { ApiError } from '../../../kernel/errors.ts'`,
    ],
    good: [
      'control-plane/src/areas/fleet/agents/queries.ts',
      `import type { Db } from '../../../kernel/tenancy.ts'`,
    ],
  },
  'routes.ts never imports adapters or the database': {
    bad: [
      'control-plane/src/areas/fleet/agents/routes.ts',
      `import type { Clock } from '../../../adapters/clock.ts'`,
    ],
    good: [
      'control-plane/src/areas/fleet/agents/routes.ts',
      `import { route } from '../../../kernel/route.ts'`,
    ],
  },
  'areas reach the outside world through ports': {
    bad: ['control-plane/src/areas/fleet/agents/service.ts', `import postgres from 'postgres'`],
    good: ['control-plane/src/areas/fleet/agents/service.ts', `import type { Fragment } from 'postgres'`],
  },
  'only programs read the environment': {
    bad: ['control-plane/src/config.ts', `const port = Number(process.env['PORT'])`],
    good: ['control-plane/src/main.ts', `start(process.env)`],
  },
  'gateway: transport, claims and uplink below, session above, router on top': {
    bad: ['edge-gateway/src/transport/uws.ts', `import type { Session } from '../session/session.ts'`],
    good: ['edge-gateway/src/session/session.ts', `import type { Link } from '../transport/link.ts'`],
  },
  'the gateway never opens Postgres': {
    bad: ['edge-gateway/test/admission.test.ts', `import postgres from 'postgres'`],
    good: ['edge-gateway/test/admission.test.ts', `import { test } from 'vitest'`],
  },
  'names on the bus are built in names.ts alone': {
    bad: ['edge-gateway/src/gateway.ts', 'bus.publish(`edge:${node}`, bytes)'],
    good: ['edge-gateway/src/gateway.ts', 'bus.publish(names.edge(node), bytes)'],
  },
}

test('no file of ours breaks a rule of the layers', () => {
  const sources = readSources()
  expect([...sources.keys()]).toContain('control-plane/src/kernel/route.ts')
  expect(violations(sources)).toEqual([])
})

test.each(rules.map(({ name }) => name))('a planted violation is found: %s', (name) => {
  const { bad, good } = planted[name] ?? {}
  expect(violations(new Map(bad && [bad])).map((line) => line.startsWith(name))).toContain(true)
  expect(violations(new Map(good && [good]))).toEqual([])
})

test('every way to import is seen', () => {
  const text = `import './a.ts'
import b, { type C } from "../b.ts"
import type { D } from 'd'
export * from './e.ts'
export type { F } from './f.ts'
const g = await import('./g.ts')`
  expect(importsOf('x/y/z.ts', text)).toEqual([
    { from: 'x/y/z.ts', to: 'x/y/a.ts', typeOnly: false, line: 1 },
    { from: 'x/y/z.ts', to: 'x/b.ts', typeOnly: false, line: 2 },
    { from: 'x/y/z.ts', to: 'd', typeOnly: true, line: 3 },
    { from: 'x/y/z.ts', to: 'x/y/e.ts', typeOnly: false, line: 4 },
    { from: 'x/y/z.ts', to: 'x/y/f.ts', typeOnly: true, line: 5 },
    { from: 'x/y/z.ts', to: 'x/y/g.ts', typeOnly: false, line: 6 },
  ])
})
