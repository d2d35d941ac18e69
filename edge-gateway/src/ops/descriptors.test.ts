import { closeSync, openSync } from 'node:fs'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { Counters } from './counters.ts'
import { DescriptorGuard, type Descriptors, readDescriptors } from './descriptors.ts'
import { limits } from './limits.ts'

/** A guard over a process that may open a hundred, and has five open beside its connections. */
const guarded = (more: { resume?: () => Promise<void> } = {}) => {
  const world = { connections: 0, beside: 5, limit: 100, listening: true, told: true, exhausted: false }
  const counters = new Counters()
  const guard = new DescriptorGuard({
    limits,
    counters,
    log: pino({ level: 'silent' }),
    connections: () => world.connections,
    pause: () => {
      world.listening = false
    },
    resume:
      more.resume ??
      (async () => {
        world.listening = true
      }),
    read: (): Descriptors | 'exhausted' | undefined =>
      world.exhausted
        ? 'exhausted'
        : world.told
          ? { limit: world.limit, used: world.beside + world.connections }
          : undefined,
  })
  const come = (count: number) => {
    for (let n = 0; n < count && world.listening; n++) {
      world.connections++
      guard.came()
    }
  }
  const look = async () => {
    guard.look()
    await Promise.resolve()
  }
  guard.look()
  return { world, counters, guard, come, look }
}

it('stops listening at 95 % in the middle of a burst, and listens again below 90 %', async () => {
  const { world, counters, guard, come, look } = guarded()
  come(200)
  expect(world).toMatchObject({ connections: 90, listening: false })
  expect(guard.state).toEqual({ limit: 100, used: 95, paused: true })
  world.connections = 85
  await look()
  expect(world.listening).toBe(false)
  world.connections = 84
  await look()
  expect(world.listening).toBe(true)
  come(200)
  expect(world).toMatchObject({ connections: 90, listening: false })
  expect(counters.descriptorPauses).toBe(2)
})

it('stops listening when there is none left to look with, and listens again when there are', async () => {
  const { world, guard, look } = guarded()
  world.exhausted = true
  await look()
  expect(world.listening).toBe(false)
  expect(guard.state).toEqual({ limit: 100, used: 100, paused: true })
  world.exhausted = false
  await look()
  expect(world.listening).toBe(true)
})

it('counts what is open beside the connections, when it looks', async () => {
  const { world, guard, look } = guarded()
  world.beside = 96
  guard.came()
  expect(world.listening).toBe(true)
  await look()
  expect(world.listening).toBe(false)
})

it('a limit that is raised under way counts', async () => {
  const { world, come, look } = guarded()
  come(200)
  world.limit = 1_000
  await look()
  expect(world.listening).toBe(true)
})

it('tries again to listen until it can', async () => {
  let tries = 0
  const { world, guard, come, look } = guarded({
    resume: async () => {
      if (++tries < 3) throw new Error('taken')
    },
  })
  come(200)
  world.connections = 0
  for (let n = 0; n < 5; n++) await look()
  expect([tries, guard.state?.paused]).toEqual([3, false])
})

it('guards nothing where the system sets no limit, and nothing once stopped', () => {
  const { world, guard, come } = guarded()
  world.told = false
  guard.look()
  come(200)
  expect([world.listening, guard.state]).toEqual([true, undefined])
  world.told = true
  guard.stop()
  guard.came()
  expect(world.listening).toBe(true)
})

it.runIf(process.platform === 'linux')('the system says what this process has open', () => {
  const before = readDescriptors() as Descriptors
  const opened = Array.from({ length: 10 }, () => openSync('/dev/null', 'r'))
  const after = readDescriptors() as Descriptors
  for (const descriptor of opened) closeSync(descriptor)
  expect(after.limit).toBeGreaterThan(50)
  expect(after.used - before.used).toBe(10)
})
