import type { AgentEvent } from '@svc/agent-sim'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Losses } from './losses.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const stopped: AgentEvent = { kind: 'stopped', reason: 'DECOMMISSIONED', text: '' }
const connected: AgentEvent = { kind: 'connected', tookMs: 1, epoch: 1 }

test('many losses are one line: who was replaced, who could not be, who is removed later', () => {
  const lines: string[] = []
  const losses = new Losses((line) => lines.push(line))
  for (const number of [1, 2, 3]) losses.take(number, stopped)
  for (const number of [1, 2, 4]) losses.take(number, connected)
  losses.take(5, { ...stopped, text: 'refused' })
  vi.runAllTimers()
  expect(lines).toEqual([])
  losses.atStart()
  expect(lines.splice(0)).toEqual([
    'the server no longer wants 2 simulated devices: replaced by new ones',
    '2 simulated devices cannot be had: DECOMMISSIONED',
  ])
  losses.take(1, stopped)
  losses.take(2, stopped)
  vi.runAllTimers()
  losses.take(4, stopped)
  vi.runAllTimers()
  expect(lines).toEqual([
    '2 simulated devices removed (DECOMMISSIONED); the next `npm start` enrolls as many anew',
    '1 simulated device removed (DECOMMISSIONED); the next `npm start` enrolls as many anew',
  ])
})
