import type { WireRequest } from './wire.ts'

/** Another way to write a request. Undefined: there is none for this one. */
type Variant = (request: WireRequest) => WireRequest | undefined

const targeted =
  (write: (path: string) => string | undefined): Variant =>
  (request) => {
    const [path = '', query] = request.target.split('?')
    const written = write(path)
    if (written === undefined || written === path) return undefined
    return { ...request, target: query === undefined ? written : `${written}?${query}` }
  }
const start = '/api/v1'
const rest = (path: string) => path.slice(start.length)
const encodeAt = (path: string, at: number) =>
  `${path.slice(0, at)}%${path.charCodeAt(at).toString(16).padStart(2, '0')}${path.slice(at + 1)}`
const lastSlash = (path: string, by: string) => {
  const at = path.lastIndexOf('/')
  return `${path.slice(0, at)}${by}${path.slice(at + 1)}`
}

/** Ways in which a path can be written that some server or other takes for the same path (reference R0.2). */
const paths: Record<string, (path: string) => string | undefined> = {
  'a slash at the end': (path) => `${path}/`,
  'two slashes at the end': (path) => `${path}//`,
  'two slashes at the beginning': (path) => `/${path}`,
  'three slashes at the beginning': (path) => `//${path}`,
  'two slashes after the prefix': (path) => `${start}/${rest(path)}`,
  'two slashes inside': (path) => lastSlash(path, '//'),
  '/./ inside': (path) => lastSlash(path, '/./'),
  '/../ inside': (path) => `${start}/auth/..${rest(path)}`,
  '/../ out of what is open': (path) => `/health/..${path}`,
  '/../ out of what is open and below': (path) => `${start}/auth/login/../..${rest(path)}`,
  '%2e%2e inside': (path) => `${start}/auth/%2e%2e${rest(path)}`,
  '%2E%2E out of what is open': (path) => `/docs/%2E%2E${path}`,
  '..%2f inside': (path) => `${start}/auth/..%2f${rest(path).slice(1)}`,
  '%2f for the last slash': (path) => lastSlash(path, '%2f'),
  '%2F for the first slash': (path) => `%2F${path.slice(1)}`,
  '%252f for the last slash': (path) => lastSlash(path, '%252f'),
  '%5c for the last slash': (path) => lastSlash(path, '%5c'),
  'a backslash for the last slash': (path) => lastSlash(path, '\\'),
  '..;/ inside': (path) => `${start}/auth/..;${rest(path)}`,
  ';x=y at the end': (path) => `${path};x=y`,
  ';x=y after the prefix': (path) => `${start};x=y${rest(path)}`,
  ';x=y in the first segment': (path) => path.replace(/^(\/api\/v1\/[^/]+)/, '$1;x=y'),
  'an encoded letter': (path) => encodeAt(path, start.length + 1),
  'an encoded letter of the prefix': (path) => encodeAt(path, 1),
  'an encoded last letter': (path) => encodeAt(path, path.length - 1),
  'a letter encoded twice': (path) => encodeAt(path, start.length + 1).replace('%', '%25'),
  'upper case': (path) => start + rest(path).toUpperCase(),
  'the first segment in upper case': (path) =>
    path.replace(/^\/api\/v1\/[^/]+/, (part) => start + part.slice(7).toUpperCase()),
  '/API/v1': (path) => `/API/v1${rest(path)}`,
  '/api/V1': (path) => `/api/V1${rest(path)}`,
  'no prefix': rest,
  'the prefix twice': (path) => start + path,
  'a dot at the end': (path) => `${path}.`,
  '%20 at the end': (path) => `${path}%20`,
  '%00 at the end': (path) => `${path}%00`,
  '%09 at the end': (path) => `${path}%09`,
  '%3f at the end': (path) => `${path}%3f`,
  '%23 at the end': (path) => `${path}%23`,
  '.json at the end': (path) => `${path}.json`,
  '%c0%af for the last slash': (path) => lastSlash(path, '%c0%af'),
  '%c0%ae%c0%ae inside': (path) => `${start}/auth/%c0%ae%c0%ae${rest(path)}`,
  'half of an encoded letter': (path) => `${path}%4`,
  'the whole address': (path) => `http://svc.test${path}`,
  'the whole address of another host': (path) => `http://127.0.0.1:1${path}`,
  'another path in front of ?': (path) => `${start}/auth/login?/..${rest(path)}`,
}

const methods: Record<string, Variant> = {
  HEAD: (request) => (request.method === 'GET' ? { ...request, method: 'HEAD' } : undefined),
  OPTIONS: (request) => ({ ...request, method: 'OPTIONS' }),
  'OPTIONS as a browser asks': (request) => ({
    ...request,
    method: 'OPTIONS',
    headers: {
      ...request.headers,
      origin: 'http://svc.test',
      'access-control-request-method': request.method,
    },
  }),
  TRACE: (request) => ({ ...request, method: 'TRACE' }),
  PROPFIND: (request) => ({ ...request, method: 'PROPFIND' }),
}

/** Other ways to write a request; what each makes of it, or undefined where it makes nothing else. */
export const otherWays: Record<string, Variant> = {
  ...Object.fromEntries(Object.entries(paths).map(([name, write]) => [name, targeted(write)])),
  ...methods,
}

/** What a proxy may say, or somebody in its stead: none of it may change an answer (reference I12). */
export const forwarded: Record<string, (request: WireRequest) => Record<string, string>> = {
  'x-forwarded-for of this host': () => ({ 'x-forwarded-for': '127.0.0.1' }),
  'x-forwarded-for of an allowed address': () => ({ 'x-forwarded-for': '192.0.2.7' }),
  'x-forwarded-for of a private network': () => ({ 'x-forwarded-for': '10.0.0.1, ::1' }),
  forwarded: () => ({ forwarded: 'for=192.0.2.7;host=localhost;proto=https' }),
  'x-real-ip': () => ({
    'x-real-ip': '192.0.2.7',
    'true-client-ip': '192.0.2.7',
    'cf-connecting-ip': '192.0.2.7',
  }),
  'x-client-ip': () => ({ 'x-client-ip': '127.0.0.1', 'x-cluster-client-ip': '127.0.0.1' }),
  'x-forwarded-proto': () => ({
    'x-forwarded-proto': 'https',
    'x-forwarded-port': '443',
    'x-forwarded-ssl': 'on',
  }),
  'x-forwarded-host': () => ({ 'x-forwarded-host': 'localhost', 'x-host': 'localhost' }),
  'x-forwarded-prefix': () => ({ 'x-forwarded-prefix': '/api/v1/auth', 'x-forwarded-path': '/health' }),
  'x-original-url of what is open': () => ({
    'x-original-url': '/api/v1/auth/login',
    'x-original-uri': '/health',
  }),
  'x-rewrite-url of what is open': () => ({ 'x-rewrite-url': '/health', 'x-override-url': '/health' }),
  'x-original-url of what was asked': ({ target }) => ({ 'x-original-url': target, 'x-rewrite-url': target }),
  'x-forwarded-user': () => ({ 'x-forwarded-user': 'admin', 'x-remote-user': 'admin', 'x-user-id': '1' }),
  'x-http-method-override': (request) => ({ 'x-http-method-override': otherMethod(request) }),
  'x-http-method': (request) => ({ 'x-http-method': otherMethod(request) }),
  'x-method-override': (request) => ({ 'x-method-override': otherMethod(request) }),
}

const otherMethod = ({ method }: WireRequest) => (method === 'GET' ? 'DELETE' : 'GET')
