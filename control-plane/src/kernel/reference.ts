import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Asset, referenceScript } from './reference-script.ts'

/** What the page may do: run its own two scripts, style itself, and ask this server. Nothing leaves the host. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Paths are relative to the page: a proxy may have put something in front of all of them. */
const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>svc API</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <div id="app"></div>
    <script src="docs/reference.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`

/** One way to say a request is enough for a page that can send it itself. */
const languages =
  'c clojure csharp dart fsharp go http java js kotlin node objc ocaml php powershell python r ruby rust swift'.split(
    ' ',
  )

/** Without what would ask other hosts (fonts, telemetry, a proxy for requests) or sell something. */
const settings = {
  url: 'api/v1/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  documentDownloadType: 'json',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  hiddenClients: Object.fromEntries(languages.map((language) => [language, true])),
  persistAuth: false,
  metaData: { title: 'svc API' },
}
const start = `Scalar.createApiReference('#app', ${JSON.stringify(settings)})\n`

/** The methods and paths of {@link referencePage}. */
export const referencePaths = [
  ['GET', '/docs'],
  ['GET', '/docs/'],
  ['GET', '/docs/reference.js'],
  ['GET', '/docs/start.js'],
] as const

/** `/docs`: the OpenAPI document for people, in the browser. Nothing of it is read before somebody asks. */
export function referencePage(app: FastifyInstance): void {
  const script = referenceScript()
  app.get('/docs', async (_request, reply) =>
    reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(page),
  )
  app.get('/docs/', async (_request, reply) => reply.redirect('../docs', 308))
  app.get('/docs/start.js', async (_request, reply) => reply.type(javascript).send(start))
  app.get('/docs/reference.js', async (request, reply) => sendScript(await script(), request, reply))
}

const javascript = 'text/javascript; charset=utf-8'

/** Kept by browsers, which ask whether it is still the same (RFC 9110 §13.1.2, §12.5.3). */
function sendScript({ plain, gzip, tag }: Asset, request: FastifyRequest, reply: FastifyReply) {
  const packed = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
  const etag = `"${tag}${packed ? '-gzip' : ''}"`
  reply.headers({ 'cache-control': 'no-cache', vary: 'accept-encoding', etag })
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  if (packed) reply.header('content-encoding', 'gzip')
  return reply.type(javascript).send(packed ? gzip : plain)
}
