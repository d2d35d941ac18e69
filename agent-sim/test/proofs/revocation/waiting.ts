import { Api } from '../../system/harness/api.ts'

/** As long as anybody may wait for a command. */
const longestMs = 30_000

/** One request that is under way for as long as nothing happens. */
export interface Waiting {
  /** How long it went on after `acted` (ms since 1970). */
  lastedFor(acted: number): Promise<number>
  /** Wrong is any end of it but a refusal. */
  faults(): Promise<string[]>
}

/** Begins to wait for the end of a command that does not end. */
export function waitFor(url: string, token: string, deviceId: string, commandId: string): Waiting {
  const ended = new Api(url, token)
    .ask('GET', `/devices/${deviceId}/commands/${commandId}?waitMs=${longestMs}`)
    .then(
      ({ status }) => ({ status, at: Date.now() }),
      () => ({ status: 0, at: Date.now() }),
    )
  return {
    lastedFor: async (acted) => Math.max(0, (await ended).at - acted),
    faults: async () => {
      const { status } = await ended
      return status === 401 ? [] : [`who waits at ${url} is answered ${status}`]
    },
  }
}
