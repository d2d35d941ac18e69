import { setTimeout as sleep } from 'node:timers/promises'
import { Expected } from '../start/options.ts'
import type { Api } from './api.ts'
import { type DemoDevice, pick, type Traveller } from './devices.ts'
import { isFinal, type Witness } from './witness.ts'

/** Devices that get commands of a type, and requests in flight at once. */
const devicesPerType = 100
const atOnce = 16
const waitMs = 30_000

const orders = [
  ['list_processes', { limit: 10 }],
  ['run_script', { interpreter: 'sh', content: 'echo done' }],
  ['refresh_inventory', {}],
] as const

/** A command that the API accepted. */
export interface Sent {
  id: string
  device: DemoDevice
  /** from the request to the end seen through the API, in milliseconds */
  tookMs: number
}

/** Sends commands of each type to many devices over REST and reads each one's end. Errors are collected, not thrown. */
export async function sendMany(
  api: Api,
  devices: readonly DemoDevice[],
  random: () => number,
  errors: string[],
): Promise<Sent[]> {
  const work = orders.flatMap(([type, payload]) =>
    pick(devices, devicesPerType, random).map((device) => ({ type, payload, device })),
  )
  const queue = pick(work, work.length, random)
  const sent: Sent[] = []
  const worker = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) {
      const { type, payload, device } = next
      const began = performance.now()
      try {
        const id = await api.send(device.id, type, payload)
        const entry = { id, device, tookMs: Number.NaN }
        sent.push(entry)
        await awaitEnd(api, device, id)
        entry.tookMs = performance.now() - began
      } catch (error) {
        errors.push(`${type}: ${(error as Error).message}`)
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return sent
}

async function awaitEnd(api: Api, device: DemoDevice, id: string): Promise<void> {
  const patience = Date.now() + 2 * waitMs
  for (let status = ''; !isFinal(status); ) {
    if (Date.now() > patience) throw new Error(`command ${id} is still ${status}`)
    status = await api.status(device.id, id, waitMs)
  }
}

/**
 * One device loses its network; a command for it waits, the device returns, the command runs. Resolves with the command
 * and whether it waited. What became of it is counted by the caller, from the database and the ledger.
 */
export async function whileAway(
  api: Api,
  witness: Witness,
  device: Traveller,
): Promise<{ sent: Sent; waited: boolean }> {
  await device.goAway()
  await until(async () => !(await witness.hasConnection(device.id)), 'the lost connection is noticed')
  const began = performance.now()
  const id = await api.send(device.id, 'run_script', { interpreter: 'sh', content: 'echo back' })
  const waited = (await api.status(device.id, id, 2_000)) === 'queued'
  await device.comeBack()
  await awaitEnd(api, device, id)
  return { sent: { id, device, tookMs: performance.now() - began }, waited }
}

/** What is said of a wait that came to nothing. */
export const late = (what: string, ms: number): string => `waited ${ms / 1000} s in vain until ${what}`

/** Polls until it holds. Throws, saying for what it waited, when it does not within `withinMs`. */
export async function until(
  holds: () => Promise<boolean> | boolean,
  what: string,
  withinMs = 60_000,
): Promise<void> {
  for (const patience = Date.now() + withinMs; !(await holds()); await sleep(50)) {
    if (Date.now() > patience) throw new Expected(late(what, withinMs))
  }
}
