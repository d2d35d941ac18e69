import { execFileSync } from 'node:child_process'
import { cpus, release, totalmem } from 'node:os'
import type { ResultFile } from './contract.ts'

export const machine = (): ResultFile['machine'] => ({
  processor: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryBytes: totalmem(),
  kernel: release(),
  node: process.version,
})

/** The commit of the sources, `+` behind it where they have changed since; `unknown` outside a repository. */
export function commit(root: string): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    // Results of other benches are no change of what is measured.
    const changed = git('status', '--porcelain', '--', '.', ':!bench/results')
    return git('rev-parse', '--short=12', 'HEAD') + (changed ? '+' : '')
  } catch {
    return 'unknown'
  }
}
