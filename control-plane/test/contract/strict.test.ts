import { expect, test } from 'vitest'
import { z } from 'zod'
import { routes } from '../../src/areas/index.ts'

/** Paths of objects that would take keys which they do not name. */
function loose(schema: unknown, at = 'body'): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const json = schema as Record<string, unknown>
  const own = 'properties' in json && json['additionalProperties'] !== false ? [at] : []
  return [...own, ...Object.entries(json).flatMap(([key, inner]) => loose(inner, `${at}.${key}`))]
}

const withBody = routes.flatMap(({ method, path, body }) =>
  body ? [[`${method} ${path}`, body] as const] : [],
)

test.each(withBody)('%s: no object in its body takes keys that it does not name', (_route, body) => {
  expect(loose(z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' }))).toEqual([])
})

test('each route is declared once', () => {
  const names = routes.map(({ method, path }) => `${method} ${path}`)
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
})
