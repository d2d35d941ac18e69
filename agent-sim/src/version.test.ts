import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { agentVersion } from './version.ts'

it('reports the version of its package', () => {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  expect((JSON.parse(text) as { version: string }).version).toBe(agentVersion)
})
