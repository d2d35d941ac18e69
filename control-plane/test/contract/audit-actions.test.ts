import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { routes } from '../../src/areas/index.ts'
import { auditActions } from '../../src/kernel/audit-actions.ts'
import { readSources } from './layers/sources.ts'

const catalogue = Object.keys(auditActions)

/** The table of docs/interface.md §Audit events. */
function actionsOfInterface(): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/interface.md'), 'utf8')
  const section = /### Audit events\n([\s\S]*?)\n### /.exec(text)?.[1] ?? ''
  return [...section.matchAll(/^\| ([a-z_.]+\.[a-z_.]+) \|/gm)].map(([, action]) => String(action))
}

/** What is declared for a write, as the kernel writes it. */
const declared = routes.flatMap(({ audit }) => (typeof audit === 'string' ? [audit] : []))

/** What handlers, jobs and commands write by themselves: texts like an action, but in the catalogue. */
const written = [...readSources()]
  .filter(
    ([path]) => path.startsWith('control-plane/src/') && !/(\.test|\.types|audit-actions)\.ts$/.test(path),
  )
  .flatMap(([, text]) =>
    [
      ...text.matchAll(
        /(?:(?:action|audit):|audit(?:ed|Command)\(db,)\s*(?:\|\s*)?'([a-z_]+(?:\.[a-z_]+)+)'|\|\s'([a-z_]+(?:\.[a-z_]+)+)'/g,
      ),
    ].map(([, one, other]) => String(one ?? other)),
  )

test('every action that is declared or written has a category and a severity', () => {
  expect(declared.length).toBeGreaterThan(50)
  expect(written).toEqual(
    expect.arrayContaining(['authorization.denied', 'auth.refresh.reuse', 'partner.create']),
  )
  expect([...new Set([...declared, ...written])].filter((action) => !catalogue.includes(action))).toEqual([])
})

test('every action of the catalogue is written by something', () => {
  expect(catalogue.filter((action) => !declared.includes(action) && !written.includes(action))).toEqual([])
})

test('every action that the interface names is in the catalogue, under its own name', () => {
  const named = actionsOfInterface()
  expect(named.length).toBeGreaterThanOrEqual(18)
  expect(named.filter((action) => !catalogue.includes(action))).toEqual([])
})
