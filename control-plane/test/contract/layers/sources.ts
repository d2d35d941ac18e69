import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository's root. */
export const root = fileURLToPath(new URL('../../../../', import.meta.url))

const packages = ['proto', 'control-plane', 'edge-gateway', 'agent-sim', 'tools']
const skipped = new Set(['node_modules', 'dist', 'gen'])

function walk(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : walk(path)
    return /\.(ts|mjs)$/.test(entry.name) ? [path] : []
  })
}

/** Every source of ours, by its path in the repository with forward slashes. */
export function readSources(): Map<string, string> {
  const files = packages.flatMap((name) => walk(join(root, name)))
  return new Map(files.map((file) => [relative(root, file).split(sep).join('/'), readFileSync(file, 'utf8')]))
}
