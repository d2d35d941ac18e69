import { expect, test } from 'vitest'
import { systemTests } from '../system/harness/suite.ts'
import { identity } from './identity/identity.ts'
import { passed, tableOf } from './verdict.ts'

systemTests('the proof that devices are who they are', () => {
  test('whatever dies while they renew, whoever copies them, whoever steals a token', async () => {
    const rows = await identity({ seconds: 4, agents: 3, seed: 7, short: true, say: () => undefined })
    expect(passed(rows), tableOf(rows)).toBe(true)
  })
})
