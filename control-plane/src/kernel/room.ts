import type { FastifyReply } from 'fastify'
import { ApiError } from './errors.ts'

/** Seconds, not the same for all: those who were refused together must not come again together. */
export const comeAgainSeconds = (): number => 2 + Math.floor(Math.random() * 4)

/** Takes one in, of whom it is; throws where there is no room. */
export type Enter = (reply: Pick<FastifyReply, 'raw'>, tenant?: string) => void

/**
 * Takes in so many requests at once; each leaves with its answer, or with its connection. To refuse one costs little: nothing was asked
 * about it yet but whether its address has tries left.
 *
 * @param mostOfOne of these of one tenant, so that one who is slow to read does not keep all others out
 * @returns what takes one in. @throws ApiError UNAVAILABLE when there is no room
 */
export function roomFor(most: number, mostOfOne = most): Enter {
  let inside = 0
  const tenants = new Map<string, number>()
  return ({ raw }, tenant = '') => {
    const theirs = tenants.get(tenant) ?? 0
    if (inside >= most || theirs >= mostOfOne)
      throw new ApiError('UNAVAILABLE', 'more such requests are being answered than the server can at once', {
        retryAfter: comeAgainSeconds(),
        shed: true,
      })
    inside++
    tenants.set(tenant, theirs + 1)
    let left = false
    const leave = () => {
      if (left) return
      left = true
      inside--
      const rest = (tenants.get(tenant) ?? 1) - 1
      if (rest > 0) tenants.set(tenant, rest)
      else tenants.delete(tenant)
    }
    raw.once('finish', leave).once('close', leave)
  }
}
