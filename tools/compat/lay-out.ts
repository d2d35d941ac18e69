import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Own, Published } from './packages.ts'

/** The folders of packages in a node_modules, as `name` or `@scope/name`; none of ours. */
const namesIn = (modules: string): string[] =>
  readdirSync(modules)
    .filter((name) => !name.startsWith('.') && name !== '@svc')
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(modules, name)).map((each) => `${name}/${each}`) : [name],
    )

/** Makes the node_modules `to` of what is in `from`: links, but for what is its own. */
export function layOut(own: Own, from: string, to: string): void {
  mkdirSync(join(to, '@svc'), { recursive: true })
  const apart = new Set([...own.copied, ...own.fetched.map(({ name }) => name)])
  const place = (name: string) => {
    mkdirSync(dirname(join(to, name)), { recursive: true })
    return join(to, name)
  }
  for (const name of namesIn(from)) if (!apart.has(name)) symlinkSync(join(from, name), place(name))
  for (const name of own.copied) cpSync(join(from, name), place(name), { recursive: true })
  if (own.fetched.length > 0) fetch(own.fetched, place)
}

/** Gets packages from the registry as they were published. Throws where one is not what the lock says. */
function fetch(wanted: readonly Published[], place: (name: string) => string): void {
  const folder = mkdtempSync(join(tmpdir(), 'svc-packages-'))
  try {
    const specs = wanted.map(({ name, version }) => `${name}@${version}`)
    const said = execFileSync('npm', [
      'pack',
      ...specs,
      '--json',
      '--pack-destination',
      folder,
      '--loglevel=error',
    ])
    const packed = JSON.parse(said.toString()) as { name: string; filename: string }[]
    for (const { name, integrity } of wanted) {
      const archive = join(folder, packed.find((each) => each.name === name)?.filename ?? '')
      const [algorithm = '', checksum] = integrity.split(/-(.*)/s)
      if (createHash(algorithm).update(readFileSync(archive)).digest('base64') !== checksum)
        throw new Error(`${name}: the registry has another one than package-lock.json names`)
      mkdirSync(place(name))
      execFileSync('tar', ['-x', '--strip-components=1', '-C', place(name), '-f', archive])
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
