import { setTimeout as pause } from 'node:timers/promises'
import type { Bus } from '@svc/proto/bus'

const withinMs = 1_000

/** Resolves when the bus is up. One that has just been made is not connected yet; one that is away is not waited for. */
export async function busUp(bus: Bus): Promise<void> {
  const until = performance.now() + withinMs
  while (!bus.up && performance.now() < until) await pause(10)
}
