import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The version of an installed package. Read from its files: not every package exports its `package.json`. */
export function versionOf(name: string): string {
  let folder = dirname(createRequire(import.meta.url).resolve(name))
  for (;;) {
    try {
      const found = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        name?: string
        version?: string
      }
      if (found.name === name && found.version) return found.version
    } catch (error) {
      if (folder === dirname(folder)) throw error
    }
    folder = dirname(folder)
  }
}
