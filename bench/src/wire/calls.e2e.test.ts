import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startServed } from './calls.ts'

test('a call to a program that has been ended is rejected, at whatever moment it comes', async () => {
  const served = await startServed('wire')
  process.kill(served.pid, 'SIGKILL')
  const calls: Promise<string>[] = []
  const call = () =>
    served.call('anything').then(
      () => 'answered',
      () => 'rejected',
    )
  let over = false
  const ended = served.kill().then(() => (over = true))
  while (!over) {
    calls.push(call())
    await turn()
  }
  await ended
  expect(new Set(await Promise.all([...calls, call()]))).toEqual(new Set(['rejected']))
})
