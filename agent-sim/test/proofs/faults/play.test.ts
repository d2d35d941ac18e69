import { expect, test } from 'vitest'
import { longestBurstMs } from './bursts.ts'
import { faults } from './faults.ts'
import { noticedIn } from './play.ts'

const [fault] = faults
if (!fault) throw new Error('there are no faults')
const row = (what: string, pass: boolean) => ({ what, expected: '', seen: '', pass })
const planted = { ...fault, plant: { guard: 'it', noticed: /harm/ } }

test('a guard that is missing is noticed by the harm it does, and by nothing else', () => {
  expect(noticedIn(planted, [row('harm', false)])).toMatchObject({ pass: true })
  expect(noticedIn(planted, [row('harm', true), row('another thing', false)])).toMatchObject({ pass: false })
  expect(noticedIn(planted, [row('harm', true)])).toMatchObject({ pass: false, seen: 'PASS' })
})

test('each fault of the table is there once', () => {
  expect(new Set(faults.map(({ id }) => id)).size).toBe(faults.length)
})

test('errors of one burst are those that are close to one another', () => {
  expect(longestBurstMs([])).toBe(0)
  expect(longestBurstMs([5_000, 100, 900, 1_700, 9_000])).toBe(1_600)
})
