import { randomUUID } from 'node:crypto'
import { isIP } from 'node:net'
import cookie from '@fastify/cookie'
import fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  LogController,
} from 'fastify'
import type { Registry } from 'prom-client'
import type { Config } from './config.ts'
import { ApiError } from './kernel/errors.ts'
import { answerErrors, answerUnreadable } from './kernel/failures.ts'
import { measure } from './kernel/measure.ts'
import { healthRoutes, type Readiness } from './kernel/readiness.ts'
import { bodyLimits, parseBody } from './kernel/json.ts'
import { refuseOtherMethods } from './kernel/methods.ts'
import type { Kernel } from './kernel/kernel.ts'
import { mount, pathsOf } from './kernel/mount.ts'
import { openapiInTurns } from './kernel/openapi.ts'
import { referencePage, referencePaths } from './kernel/reference.ts'
import type { Route } from './kernel/route.ts'
import { traceRequests } from './kernel/traces.ts'

/** All paths of the interface but `/health` begin with this (interface §Versioning 1). */
export const prefix = '/api/v1'

/** Every one of these is a decision: the framework's own defaults let a slow client stay for ever. */
const timeouts = {
  /** a whole request, body included: a JSON body of 1 MiB takes seconds on the worst line */
  requestTimeout: 30_000,
  /** a socket on which nothing moves; longer than the longest wait for a device (`waitMs` 30 s) */
  connectionTimeout: 60_000,
  /** longer than common proxies keep theirs (60 s), so that we never close one that a proxy is about to use */
  keepAliveTimeout: 65_000,
  /** connections are renewed, so that a new process behind the same address gets its share */
  maxRequestsPerSocket: 10_000,
}
/** Headers must have arrived by then (slow-loris); below `requestTimeout`. */
const headersTimeoutMs = 10_000
/** Bytes of all headers together: a token is at most 4 KiB, cookies less. */
const maxHeaderSize = 16_384

export interface AppOptions {
  config: Config
  logger: FastifyBaseLogger
  kernel: Kernel
  routes: readonly Route[]
  registry: Registry
  ready: () => Promise<Readiness>
}

/** Nothing of an answer is cached, framed, sniffed or referred to. The same on each: written out, they need no work per request. */
const secureHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'SAMEORIGIN',
  'x-permitted-cross-domain-policies': 'none',
  'x-xss-protection': '0',
} as const

function secure(app: FastifyInstance) {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(secureHeaders)
    done()
  })
}

/** JSON is all that is read; each body is measured before anything sees it. */
function readJsonOnly(app: FastifyInstance) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: unknown, body: Buffer) => parseBody(body),
  )
}

/** The API over HTTP: the kernel's steps in front of every route of the table. Listens to nothing yet. */
export async function buildApp({
  config,
  logger,
  kernel,
  registry,
  ready,
  ...options
}: AppOptions): Promise<FastifyInstance> {
  const routes = options.routes.filter(({ existsIf }) => existsIf === undefined || config[existsIf])
  const app = fastify({
    ...timeouts,
    loggerInstance: logger,
    // One for all: what is logged of a request says its id itself.
    childLoggerFactory: (all) => all,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: bodyLimits.bytes,
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    trustProxy: (address: string) => isTrusted(config, address),
    forceCloseConnections: 'idle',
    return503OnClosing: true,
    http: { headersTimeout: headersTimeoutMs, maxHeaderSize },
    routerOptions: { maxParamLength: 500 },
    clientErrorHandler: answerUnreadable,
    frameworkErrors: (error: FastifyError, request, reply) => void answerErrors(error, request, reply),
  })
  app.decorateRequest('caller')
  app.decorateRequest('calledAt', 0)
  app.decorateRequest('taken')
  traceRequests(app, config.traceCallers, kernel.tracing)
  app.setErrorHandler(answerErrors)
  app.setNotFoundHandler(() => {
    throw new ApiError('NOT_FOUND', 'no such endpoint')
  })
  app.addHook('onRequest', (request, _reply, done) => {
    done(request.is404 ? new ApiError('NOT_FOUND', 'no such endpoint') : undefined) // before a body is read
  })
  secure(app)
  await app.register(cookie)
  readJsonOnly(app)
  measure(app, registry)
  healthRoutes(app, config.version, ready)
  for (const route of routes) mount(app, kernel, route, prefix)
  // Made when it is first asked for: most processes never are.
  let document: Promise<string> | undefined
  app.get(`${prefix}/openapi.json`, async (_request, reply) =>
    reply
      .type('application/json; charset=utf-8')
      .send(await (document ??= openapiInTurns(routes, config.version))),
  )
  referencePage(app)
  refuseOtherMethods(app, [
    ...routes.flatMap(({ method, path }) => pathsOf(path).map((each) => [method, prefix + each] as const)),
    ['GET', `${prefix}/openapi.json`],
    ...referencePaths,
  ])
  return app
}

/** Asked about the peer, and about what each trusted proxy says before it: that may be anything. */
function isTrusted({ trustedProxies }: Config, address: string): boolean {
  const family = isIP(address)
  return family !== 0 && trustedProxies.check(address, family === 6 ? 'ipv6' : 'ipv4')
}
