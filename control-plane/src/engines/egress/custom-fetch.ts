import type { Egress, EgressInit } from '../../adapters/egress.ts'

/** What libraries pass to a `fetch` of the caller's choice, such as `customFetch` of openid-client. */
interface FetchInit {
  method?: string
  headers?: Record<string, string> | Headers
  body?: unknown
  signal?: AbortSignal | undefined
}

/**
 * The engine as a library's `fetch`: `[client.customFetch]: fetchOf(ports.egress, { key })`.
 *
 * @param fixed key and budgets of all its requests
 */
export const fetchOf =
  (egress: Egress, fixed: Pick<EgressInit, 'key' | 'maxBytes' | 'timeoutMs'>) =>
  (address: string, { method, headers, body, signal }: FetchInit = {}): Promise<Response> =>
    egress.fetch(address, {
      ...fixed,
      ...(method !== undefined && { method }),
      ...(headers !== undefined && { headers }),
      // A body of another kind is refused there.
      ...(body !== undefined && { body: body as NonNullable<EgressInit['body']> }),
      ...(signal && { signal }),
    })
