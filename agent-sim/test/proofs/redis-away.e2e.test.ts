import { expect, test } from 'vitest'
import { systemTests } from '../system/harness/suite.ts'
import { redisAway } from './redis-away.ts'
import { passed, tableOf } from './verdict.ts'

const say = () => undefined

systemTests('the proof that life goes on without Redis', () => {
  test('200 agents and 20 commands a second, without it for 12 s', async () => {
    const rows = await redisAway({ seconds: 12, agents: 200, rate: 20, seed: 7, say })
    expect(passed(rows), tableOf(rows)).toBe(true)
  })

  test('it fails where gateways hand nothing up meanwhile', async () => {
    const rows = await redisAway({
      seconds: 11,
      agents: 10,
      rate: 5,
      seed: 7,
      plant: 'no-exchange-up',
      hasty: true,
      say,
    })
    const failed = rows.filter(({ pass }) => !pass)
    expect(failed.slice(0, 2)).toMatchObject([
      { what: 'commands accepted while Redis was gone that ended meanwhile', seen: '0' },
      { what: 'their results that agents know to be committed', seen: '0' },
    ])
  })
})
