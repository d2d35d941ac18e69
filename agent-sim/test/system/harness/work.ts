import type { Api } from './api.ts'
import type { Accepted } from './judge.ts'

/** How many requests are under way at a time. */
const atOnce = 8

/** Runs `each` over all, so many at a time. */
export async function inParallel<T>(all: readonly T[], each: (item: T) => Promise<void>): Promise<void> {
  const queue = [...all]
  const worker = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await each(next)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

let scripts = 0

/** A script that nobody else is given, and what it prints. */
export function newScript(seconds: number) {
  const said = `work ${(scripts += 1)}`
  return {
    payload: { interpreter: 'sh', content: `echo ${said}\nsleep ${seconds}` },
    stdout: `${said}\n`,
  }
}

/** Has each device run a script of its own; adds what the API accepted to `accepted` as it is accepted. */
export const sendScripts = (
  api: Api,
  deviceIds: readonly string[],
  seconds: number,
  accepted: Accepted[],
): Promise<void> =>
  inParallel(deviceIds, async (deviceId) => {
    const { payload, stdout } = newScript(seconds)
    const id = await api.send(deviceId, 'run_script', payload)
    accepted.push({ id, deviceId, stdout })
  })
