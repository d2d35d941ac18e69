import { svc } from '@svc/proto'
import { type SecurityLog, silently } from '@svc/proto/log'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import type { Registry } from 'prom-client'
import type { Database } from '../adapters/postgres.ts'
import { workerDb } from '../kernel/db.ts'
import { inboxCounters } from '../inbox/counters.ts'
import type { InboxDeps } from '../inbox/inbox.ts'
import { type ExchangeDeps, exchange, isNodeName } from './exchange.ts'
import { internalMetrics } from './metrics.ts'
import { sharedKey } from './shared-key.ts'

const { ExchangeRequest, ExchangeAnswer, Standing } = svc.v1

/** A gateway carries up to 4 MiB of batches at once, and asks about 500 devices. */
const maxBodyBytes = 8 * 1024 * 1024
const protobuf = 'application/x-protobuf'

export interface InternalDeps {
  /** a pool of role svc_worker */
  pool: Database
  /** what taking in and offering needs */
  ports: InboxDeps['ports']
  /** what gateways prove themselves with */
  edgeSharedKey: string
  /** what devices are told at admission */
  heartbeatIntervalMs: number
  registry: Registry
  logger: FastifyBaseLogger
  /** default: silent */
  security?: SecurityLog
  /** the number of the database's present life; absent: gateways are not told of it */
  life?: () => Promise<number>
  /** see `InboxDeps` and `PresentDeps` */
  without?: ReadonlySet<string>
}

type Refused = 'key' | 'body' | 'node' | 'failure'
const statusOf: Record<Refused, number> = { key: 401, body: 400, node: 400, failure: 503 }

/**
 * The listener for gateways alone, apart from the API's: `POST /internal/edge/exchange`, protobuf both ways. A failure of the
 * database is 503: the gateway asks again, and decides nothing meanwhile.
 */
export function internalApp(deps: InternalDeps): FastifyInstance {
  const { pool, ports, registry, logger, heartbeatIntervalMs, security = silently } = deps
  const metrics = internalMetrics(registry)
  const isGateway = sharedKey(deps.edgeSharedKey)
  const own: ExchangeDeps = {
    db: workerDb(pool, { kind: 'system' }),
    ports,
    log: logger,
    counters: inboxCounters(registry),
    security,
    heartbeatIntervalMs,
    ...(deps.life && { life: deps.life }),
    ...(deps.without && { without: deps.without }),
    carried: (batches, items) => {
      metrics.carriedBatches.inc(batches)
      metrics.carriedItems.inc(items)
    },
  }
  const logController = new LogController({ disableRequestLogging: true })
  const app = fastify({ loggerInstance: logger, logController, bodyLimit: maxBodyBytes })

  app.removeAllContentTypeParsers()
  app.addContentTypeParser(protobuf, { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.addHook('onRequest', async (request) => {
    if (!isGateway(request.headers.authorization)) throw new Refusal('key')
  })
  app.setErrorHandler((error, request, reply) => {
    const refused = error instanceof Refusal ? error.refused : isClientError(error) ? 'body' : 'failure'
    metrics.refusals.inc({ reason: refused })
    if (refused === 'key')
      security('gateway.refused', 'who is no gateway is refused', { ip: request.socket.remoteAddress })
    if (refused === 'failure') request.log.error({ err: error }, 'an exchange failed')
    const status = isClientError(error) ? error.statusCode : statusOf[refused]
    return reply.code(status).type('text/plain').send(refused)
  })

  app.post('/internal/edge/exchange', async (request, reply) => {
    const asked = decode(request.body)
    if (!isNodeName(asked.node)) throw new Refusal('node')
    const answer = await exchange(own, asked)
    metrics.messages.inc(answer.messages.length)
    for (const { standing } of answer.profiles) metrics.admissions.inc({ standing: standingLabel(standing) })
    return reply.type(protobuf).send(Buffer.from(ExchangeAnswer.encode(answer).finish()))
  })
  return app
}

/** `unspecified` is a device that does not exist. */
const standingLabel = (standing: svc.v1.Standing) =>
  String(Standing[standing]).toLowerCase().replace('standing_', '')

class Refusal extends Error {
  override name = 'Refusal'
  readonly refused: Refused

  constructor(refused: Refused, cause?: unknown) {
    super(refused, { cause })
    this.refused = refused
  }
}

/** Fastify's own refusals: too large, wrong content type, bad framing. */
const isClientError = (error: unknown): error is Error & { statusCode: number } =>
  error instanceof Error && 'statusCode' in error && Number(error.statusCode) < 500

function decode(body: unknown): svc.v1.ExchangeRequest {
  try {
    return ExchangeRequest.decode(body instanceof Uint8Array ? body : new Uint8Array())
  } catch (error) {
    throw new Refusal('body', error)
  }
}
