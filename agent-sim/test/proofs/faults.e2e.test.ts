import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemTests } from '../system/harness/suite.ts'
import { deploy } from './faults/f14-deploy.ts'
import { faults } from './faults/faults.ts'
import type { Fault } from './faults/fault.ts'
import { noticedIn } from './faults/play.ts'
import { Stage } from './faults/stage.ts'
import { passed, tableOf } from './verdict.ts'

/** Those that take seconds, all on one stage; the others have tests of their own, or are played by `npm run proof -- faults`. */
const short = ['F2', 'F3', 'F5', 'F9', 'F14', 'F17', 'F19', 'F21', 'F28']
/** Then these without their guards: each is noticed by what it does to its own device, whatever the one before has left. */
const shortPlants = ['F4', 'F19']

const named = (ids: readonly string[]): Fault[] => faults.filter(({ id }) => ids.includes(id))

systemTests('the proof of faults', () => {
  let stage: Stage
  beforeAll(async () => {
    // The one of them that wants programs to be set otherwise; to the others it makes no difference.
    stage = await Stage.open(deploy, { seconds: 4, agents: 12, rate: 5, seed: 7, say: () => undefined })
  })
  afterAll(() => stage?.close())

  test.each(named(short))('$id $fault', async (fault) => {
    const rows = await stage.play(fault)
    expect(passed(rows), tableOf(rows)).toBe(true)
  })

  test.each(named(shortPlants))('$id is noticed without $plant.guard', async (fault) => {
    const rows = await stage.play(fault, true)
    expect(noticedIn(fault, rows)).toMatchObject({ pass: true })
  })
})
