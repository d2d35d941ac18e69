import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createProgress } from './progress.mjs'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

async function linesOf(what: string | (() => string), ms: number): Promise<string[]> {
  const lines: string[] = []
  const done = createProgress((line) => lines.push(line)).step(what, () => after(ms))
  await vi.runAllTimersAsync()
  await done
  return lines
}

test('a step that is quick is one line', async () => {
  expect(await linesOf('made it', 1_000)).toEqual(['  1.0 s  made it'])
})

test('a step that takes long is named while it runs, again and again', async () => {
  expect(await linesOf('agents connect', 12_000)).toEqual([
    '      …  agents connect',
    '      …  agents connect, for 6.5 s',
    '      …  agents connect, for 11.5 s',
    ' 12.0 s  agents connect',
  ])
})

test('a step may say how far it is', async () => {
  let count = 0
  expect(await linesOf(() => `${++count} of 3`, 7_000)).toEqual([
    '      …  1 of 3',
    '      …  2 of 3, for 6.5 s',
    '  7.0 s  3 of 3',
  ])
})

test('a step that fails says nothing more', async () => {
  const lines: string[] = []
  const progress = createProgress((line) => lines.push(line))
  const failed = expect(progress.step('try', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await vi.runAllTimersAsync()
  await failed
  expect(lines).toEqual([])
})
