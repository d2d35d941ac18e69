import type { CustomFetch } from 'openid-client'
import type { Egress } from '../egress.ts'

/** Metadata and keys are a few KiB. */
const maxBytes = 256 * 1024

/**
 * The egress as openid-client's `fetch`. Requests that only read, and say nothing of anybody, are made once for all who wait for the
 * same answer at a time: keys that many logins need at once.
 */
export function oidcFetch(egress: Egress, key: string): CustomFetch {
  const running = new Map<string, Promise<Response>>()
  const ask: CustomFetch = (address, { method, headers, body, signal }) =>
    egress.fetch(address, {
      key,
      maxBytes,
      method,
      headers,
      ...(body instanceof URLSearchParams || typeof body === 'string' ? { body } : {}),
      ...(signal && { signal }),
    })
  const askOnce = (address: string, init: Parameters<CustomFetch>[1]) => {
    const request = ask(address, init).finally(() => running.delete(address))
    running.set(address, request)
    return request
  }
  return async (address, init) => {
    const isShared = init.method === 'GET' && !new Headers(init.headers).has('authorization')
    if (!isShared) return ask(address, init)
    return (await (running.get(address) ?? askOnce(address, init))).clone()
  }
}
