import { expect, test } from 'vitest'
import type { AgentEvent, Asked } from '../events.ts'
import { describe, fieldsOf } from './log.ts'

const id = '01a2255e-e7c6-7244-b324-ea12a16b7f9e'
const asked: Asked = {
  requestId: '796d5d5d-111a-4e15-81bc-f123c66121d0',
  traceId: '796d5d5d111a4e1581bcf123c66121d0',
  spanId: '81bcf123c66121d0',
}
const about: AgentEvent[] = [
  { kind: 'command', id, type: 'run_script', duplicate: false, ...asked },
  { kind: 'started', id, type: 'run_script', ...asked },
  { kind: 'finished', id, type: 'run_script', outcome: 'SUCCEEDED', tookMs: 20, ...asked },
]

test.each(about)(
  'what is said of a command ($kind) is found by its id, its request and its trace',
  (event) => {
    expect(fieldsOf(event)).toEqual({ commandId: id, ...asked })
  },
)

test('a log for people names the request, too, where one asked', () => {
  const command: AgentEvent = { kind: 'command', id, type: 'run_script', duplicate: true }
  expect(describe({ ...command, ...asked })).toBe(
    `command ${id} run_script (again), of request ${asked.requestId}`,
  )
  expect(describe(command)).toBe(`command ${id} run_script (again)`)
})

test('nothing else belongs to a command', () => {
  expect(fieldsOf({ kind: 'inventory', what: 'disks' })).toEqual({})
})
