import { hostname } from 'node:os'
import { v7 as uuid } from 'uuid'
import type { Client } from './context.ts'

/**
 * Whom an audit row names where no request came: a program on this machine.
 *
 * @param program in words, such as `control plane` or `command`
 */
export const clientHere = (program: string): Client => ({
  requestId: uuid(),
  ip: '127.0.0.1',
  userAgent: `${program} on ${hostname()}`,
  header: () => undefined,
  cookie: () => undefined,
  gone: new AbortController().signal,
})
