import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { together } from './together.ts'

const after = async <T>(ms: number, value: T): Promise<T> => pause(ms, value)
const failing = async (ms: number, message: string): Promise<never> => {
  await pause(ms)
  throw new Error(message)
}

test('answers with all, in the order in which they were asked for', async () => {
  expect(await together(after(10, 'one'), after(1, 2))).toEqual(['one', 2])
})

test('rejects only when nothing is under way any more', async () => {
  let over = false
  const slow = after(20, undefined).then(() => {
    over = true
  })
  await expect(together(failing(0, 'no'), slow)).rejects.toThrow('no')
  expect(over).toBe(true)
})

test('of several failures the one that stands first is told, whichever came first', async () => {
  await expect(together(failing(10, 'first'), failing(0, 'second'))).rejects.toThrow('first')
})
