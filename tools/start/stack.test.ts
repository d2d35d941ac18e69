import { expect, test } from 'vitest'
import { Abandoned, type Running, Stack } from './stack.ts'

function fake(name: string, log: string[], stop = async () => undefined) {
  let end: (how: string) => void = () => undefined
  const running: Running = {
    name,
    stop: async () => {
      log.push(name)
      await stop()
      end('ended')
    },
    kill: () => log.push(`kill ${name}`),
    exited: new Promise((resolve) => {
      end = resolve
    }),
  }
  return { running, crash: () => end('ended with code 1') }
}

test('things end in the opposite order, once, and a failure does not keep the rest from ending', async () => {
  const log: string[] = []
  const stack = new Stack()
  stack.push(fake('database', log).running)
  stack.push(fake('server', log, () => Promise.reject(new Error('stuck'))).running)
  stack.push(fake('agents', log).running)
  const failures = await Promise.all([stack.close(), stack.close()])
  expect(log).toEqual(['agents', 'server', 'database'])
  expect(failures.flat()).toHaveLength(2)
  expect(failures[0]?.[0]).toMatchObject({ message: 'stuck' })
})

test('an end that nobody asked for is a crash, one that was asked for is not', async () => {
  const stack = new Stack()
  const { running, crash } = fake('server', [])
  stack.push(running)
  crash()
  expect(await stack.crashed).toBe('server ended with code 1')

  const calm = new Stack()
  calm.push(fake('server', []).running)
  await calm.close()
  expect(await Promise.race([calm.crashed, Promise.resolve('calm')])).toBe('calm')
})

test('what is started while everything ends is ended too', async () => {
  const log: string[] = []
  const stack = new Stack()
  const closing = stack.close()
  expect(() => stack.push(fake('late', log).running)).toThrow(Abandoned)
  await closing
  await stack.close()
  expect(log).toEqual(['late'])
})
