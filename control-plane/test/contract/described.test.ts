import { describe, expect, test } from 'vitest'
import { routes } from '../../src/areas/index.ts'
import { openapi } from '../../src/kernel/openapi.ts'
import type { Route } from '../../src/kernel/route.ts'
import { compiled } from '../../src/kernel/serialize.ts'
import { cellsOf } from './matrix/expected.ts'
import { readMatrix } from './matrix/rows.ts'

type Json = Record<string, unknown>
interface Operation {
  parameters: (Json & { name: string; in: string })[]
  requestBody?: { content: { 'application/json': { schema: Json } } }
  responses: Json
}

const document = openapi(routes, '0.0.0') as { paths: Json; components: { schemas: Record<string, Json> } }

/** The schema that a reference names, or itself. */
function resolve(schema: Json): Json {
  const { $ref } = schema
  if (typeof $ref !== 'string') return schema
  return document.components.schemas[$ref.replace('#/components/schemas/', '')] ?? {}
}

/** Paths of the fields of a body, at every depth, that say nothing about themselves. */
function silent(schema: Json, at = ''): string[] {
  const own = resolve(schema)
  const branches = ['oneOf', 'anyOf', 'allOf'].flatMap((word) => (own[word] as Json[] | undefined) ?? [])
  const fields = Object.entries((own['properties'] ?? {}) as Record<string, Json>)
  return [
    ...branches.flatMap((branch) => silent(branch, at)),
    ...fields.flatMap(([key, field]) => [
      ...(field['description'] || resolve(field)['description'] ? [] : [`${at}${key}`]),
      ...silent(field, `${at}${key}.`),
    ]),
  ]
}

const operations = routes.map((route) => {
  const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
  const operation = (document.paths[path] as Record<string, Operation>)[route.method.toLowerCase()]
  if (!operation) throw new Error(`${route.method} ${route.path} is not in the document`)
  return { name: `${route.method} ${route.path}`, route, operation }
})
const withBody = operations.filter(({ route }) => route.body)

describe('who reads the document alone can call', () => {
  test.each(withBody)('$name: each field of its body is described', ({ operation }) => {
    expect(silent(operation.requestBody?.content['application/json'].schema ?? {})).toEqual([])
  })

  test.each(withBody)('$name: its body has an example, and that is taken', ({ route, operation }) => {
    const { examples } = resolve(operation.requestBody?.content['application/json'].schema ?? {})
    expect(examples).toBeInstanceOf(Array)
    for (const example of examples as unknown[]) {
      expect(route.body?.safeParse(example).error?.issues ?? []).toEqual([])
    }
  })

  test.each(operations)('$name: each of its query parameters and headers is described', ({ operation }) => {
    const asked = operation.parameters.filter((parameter) => parameter.in !== 'path')
    expect(asked.filter(({ description }) => !description).map(({ name }) => name)).toEqual([])
  })
})

test('each named schema is described, or shows an example', () => {
  const mute = Object.entries(document.components.schemas).filter(
    ([name, schema]) => name !== 'Error' && !schema['description'] && !schema['examples'],
  )
  expect(mute.map(([name]) => name)).toEqual([])
})

/** An area's own are not: states, what a body names, and what a tenant forbids where no permission is asked for. */
const isKernels = (status: string, { path, can }: Route) =>
  status !== '409' && (status !== '404' || path.includes(':')) && (status !== '403' || can !== 'signed-in')

describe('the refusals of an operation are listed', () => {
  const matrix = readMatrix()

  test.each(operations)(
    '$name: each one of the kernel’s that some caller gets',
    ({ name, route, operation }) => {
      const got = matrix
        .filter((row) => row.operation === name)
        .flatMap((row) => cellsOf(row).map(({ expected }) => expected))
      const refusals = new Set(got.filter((cell) => Number(cell) >= 400 && isKernels(cell, route)))
      expect([...refusals].filter((status) => !(status in operation.responses))).toEqual([])
    },
  )

  test('and none that the declaration rules out', () => {
    const responsesOf = (wanted: string) => {
      const found = operations.find(({ name }) => name === wanted)
      return Object.keys(found?.operation.responses ?? {})
    }
    expect(responsesOf('GET /auth/me')).toEqual(['200', '400', '401', '429', 'default'])
    expect(responsesOf('GET /devices/:id')).toEqual([
      '200',
      '400',
      '401',
      '403',
      '404',
      '428',
      '429',
      'default',
    ])
    expect(responsesOf('POST /auth/login')).toEqual(['200', '400', '413', '415', '429', 'default'])
  })
})

test.each(routes.flatMap(({ method, path, returns }) => (returns ? [{ method, path, returns }] : [])))(
  'an answer of $method $path can be written: that is found here, not by its first caller',
  ({ returns }) => {
    expect(() => compiled(returns)).not.toThrow()
  },
)
