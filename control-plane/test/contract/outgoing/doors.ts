/** Modules by which a program opens a connection, and names of them that open none. */
const modules: Readonly<Record<string, readonly string[]>> = {
  http: ['createServer', 'STATUS_CODES', 'Server'],
  https: ['createServer', 'Server'],
  http2: [],
  net: ['isIP', 'isIPv4', 'isIPv6', 'BlockList', 'createServer', 'Server'],
  tls: ['createServer', 'createSecureContext'],
  dgram: [],
  dns: [],
  'dns/promises': [],
  child_process: [],
}
/** Packages whose purpose it is to ask somebody, and what others have of the kind. */
const clients =
  /^(undici|axios|got|ky|needle|superagent|node-fetch|ws|eventsource|openid-client|oauth4webapi|twilio|@slack\/.*|@octokit\/.*|@aws-sdk\/.*)(\/.*)?$/

const imported = /\b(?:import|export)\s+(type\s)?([^'"`;()]*?)\s*from\s+['"]([^'"]+)['"]/g
const loaded = /\b(?:import|require|getBuiltinModule)\(\s*['"]([^'"]+)['"]\s*\)|\bimport\s+['"]([^'"]+)['"]/g

/** Names of an import statement that are there at run time; undefined: the whole module. */
function valuesOf(clause: string): string[] | undefined {
  const names = /^\{([^}]*)\}$/s.exec(clause.trim())?.[1]
  return names
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && !name.startsWith('type '))
    .map((name) => name.split(/\s+as\s+/)[0] ?? name)
}

function doorOf(module: string, values: readonly string[] | undefined): string | undefined {
  const builtin = module.replace(/^node:/, '')
  const harmless = Object.hasOwn(modules, builtin) ? modules[builtin] : undefined
  if (!harmless) return clients.test(module) && values?.length !== 0 ? module : undefined
  const opens = values === undefined || values.some((name) => !harmless.includes(name))
  return opens ? builtin : undefined
}

/** Words by which a request is made without any import. */
const globals = /(?<![.\w$])(fetch|WebSocket|EventSource|XMLHttpRequest|createRemoteJWKSet|globalThis)\b/g

/** What is no code: comments, and texts on one line. */
const words = /\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/gm

/** By what this source can reach out of the process: modules and words, each once. */
export function doorsOf(text: string): string[] {
  const found = [...text.matchAll(imported)].map(([, type, clause = '', module = '']) =>
    type === undefined ? doorOf(module, valuesOf(clause)) : undefined,
  )
  found.push(...[...text.matchAll(loaded)].map(([, called, bare]) => doorOf(called ?? bare ?? '', undefined)))
  const code = text.replaceAll(words, ' ')
  for (const [, word] of code.matchAll(globals)) found.push(word)
  return [...new Set(found.filter((door) => door !== undefined))].sort()
}
