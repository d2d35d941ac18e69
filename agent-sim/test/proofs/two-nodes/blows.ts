import { setTimeout as sleep } from 'node:timers/promises'
import type { Site } from './site.ts'

/** Something that stands in for others, and is killed once. */
export const parts = [
  'control plane 1',
  'control plane 2',
  'gateway 1',
  'gateway 2',
  'Redis',
  'Postgres',
  'HAProxy',
] as const
export type Part = (typeof parts)[number]

/** Ends it as a crash would, leaves it away for so long, and brings it back. HAProxy is told to begin anew, as after a change. */
export async function strike({ system, postgres, haproxy }: Site, part: Part, awayMs: number): Promise<void> {
  const blows: Record<Part, { kill(): Promise<void>; start(): Promise<void> }> = {
    'control plane 1': plane(0),
    'control plane 2': plane(1),
    'gateway 1': gateway(0),
    'gateway 2': gateway(1),
    Redis: { kill: () => system.redis.kill(), start: () => system.startRedis() },
    Postgres: { kill: () => postgres.kill(), start: () => postgres.startAgain() },
    HAProxy: { kill: async () => haproxy.reload(), start: async () => undefined },
  }
  function plane(index: number) {
    return {
      kill: () => system.controlPlane(index).kill(),
      start: () => system.startControlPlane(index),
    }
  }
  function gateway(index: number) {
    return { kill: () => system.gateway(index).kill(), start: () => system.startGateway(index) }
  }
  await blows[part].kill()
  await sleep(awayMs)
  await blows[part].start()
}
