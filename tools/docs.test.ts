import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { readSources } from '../control-plane/test/contract/layers/sources.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const foldersIn = (path: string) =>
  readdirSync(join(root, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)

/** `commandLeaseMs` is set by COMMAND_LEASE_MS. */
const variableOf = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()

const names = (path: string, pattern: RegExp) =>
  [...read(path).matchAll(pattern)].map(([, name]) => name ?? '')

test('docs/operations.md names every variable of both configurations, and none that is not there', () => {
  const declared = [
    ...names('control-plane/src/config.ts', /^ {2}([A-Z][A-Z0-9_]+):/gm),
    ...names('control-plane/src/pipeline.ts', /^ {2}([a-zA-Z]+): ms\(/gm).map(variableOf),
    ...names('edge-gateway/src/config.ts', /^ {2}([A-Z][A-Z0-9_]+):/gm),
  ]
  expect(declared.length).toBeGreaterThan(40)
  const tables = read('docs/operations.md').split('## Variables')[1] ?? ''
  const described = [...tables.matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell]) =>
    [...(cell ?? '').matchAll(/`([A-Z0-9_]+)`/g)].map(([, name]) => name ?? ''),
  )
  expect(new Set(described)).toEqual(new Set(declared))
})

const pages = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md'].concat(
  readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && name !== 'interface.md')
    .map((name) => join('docs', name)),
)

test('every link between pages leads to a file', () => {
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)#:]+)\)/g)]
      .map(([, target]) => target ?? '')
      .filter((target) => !existsSync(join(root, dirname(page), target)))
      .map((target) => `${page}: ${target}`),
  )
  expect(broken).toEqual([])
})

test('every promise names the tests that hold it, and they exist', () => {
  const rows = read('ARCHITECTURE.md')
    .split('\n')
    .filter((line) => line.endsWith('.test.ts` |'))
  expect(rows.filter((line) => /^\| P\d+ \|/.test(line))).toHaveLength(12)
  for (const row of rows) {
    const files = [...row.matchAll(/`([^`]+\.test\.ts)`/g)].map(([, file]) => file ?? '')
    expect(files.length, row).toBeGreaterThan(0)
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
  }
})

test('the table of wings has a place for every first segment of the interface, and areas stand there', () => {
  const table = read('ARCHITECTURE.md').split('### Where an endpoint is')[1]?.split('\n#')[0] ?? ''
  const planned = [...table.matchAll(/^\| `([a-z]+)` \| (.+) \|$/gm)].flatMap(([, wing, segments]) =>
    (segments ?? '').split(', ').map((segment) => `${wing}/${segment}`),
  )
  const paths = `${read('docs/routes.txt')}\n${read('docs/pending.txt')}`.matchAll(/^[A-Z]+ +\/([a-z-]+)/gm)
  const segments = new Set([...paths].map(([, segment]) => segment))
  expect(new Set(planned.map((place) => place.split('/')[1]))).toEqual(segments)
  expect(planned).toHaveLength(segments.size)
  const wings = foldersIn('control-plane/src/areas')
  const areas = wings.flatMap((wing) =>
    foldersIn(`control-plane/src/areas/${wing}`).map((area) => `${wing}/${area}`),
  )
  expect(areas.filter((area) => !planned.includes(area))).toEqual([])
})

test('each decision says its context, decision, consequences and what was rejected', () => {
  const decisions = readdirSync(join(root, 'docs/decisions'))
  expect(decisions.length).toBeGreaterThan(8)
  for (const name of decisions) {
    const headings = [...read(join('docs/decisions', name)).matchAll(/^## (.+)$/gm)].map(
      ([, heading]) => heading,
    )
    expect(headings, name).toEqual(['Context', 'Decision', 'Consequences', 'Rejected'])
  }
})

test('sources refer to nothing that is not here', () => {
  const protos = readdirSync(join(root, 'proto/svc/v1')).map((name) => `proto/svc/v1/${name}`)
  const sources = new Map([...readSources(), ...protos.map((path) => [path, read(path)] as const)])
  expect(sources.size).toBeGreaterThan(500)
  const lost = /\b(architecture|wire|engines|security|targets) §|\(decisions \d/
  // What has landed is not changed any more, and this file says what is looked for.
  const excepted = /\/migrations\/|^tools\/docs\.test\.ts$/
  const found = [...sources].filter(([path, text]) => !excepted.test(path) && lost.test(text))
  expect(found.map(([path]) => path)).toEqual([])
})
