import type { SecurityLog } from '@svc/proto/log'
import type { Tracing } from '@svc/proto/trace'
import type { Sql } from 'postgres'
import type { Identify } from './caller.ts'
import type { SealKeys } from './idempotency.ts'
import type { KeyUses } from './key-uses.ts'
import type { Ports } from './ports.ts'
import type { Route } from './route.ts'
import type { Patience } from './stream.ts'

/** What mounting needs beside what handlers get. */
export interface Kernel {
  ports: Ports
  /** of svc_app */
  pool: Sql
  /** of svc_app, for routes that say `reserved` */
  reserve: Sql
  identify: Identify
  /** uses of API keys, to be written down later */
  keyUses: Pick<KeyUses, 'add' | 'flush'>
  /** under which once-shown answers are sealed */
  sealKeys: SealKeys
  /** within which a handler comes to an answer */
  answerWithinMs: number
  tracing: Tracing
  security: SecurityLog
  /** with who reads a stream; default: that of `stream.ts` */
  patience?: Patience
  /** told of what happens after the answer is decided, so that closing can wait for it */
  background(work: Promise<unknown>): void
}

/** A route with its serializer, compiled once. */
export interface Mounted {
  kernel: Kernel
  route: Route
  text: (value: unknown) => string
}

/** The connections that a route's requests go over. */
export const poolOf = ({ kernel, route }: Mounted): Sql => (route.reserved ? kernel.reserve : kernel.pool)
