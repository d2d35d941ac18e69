import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

const entry = 'agent-sim/src/main.ts'

/** The checkout that this file, or the bundle that it became part of, lies in. */
function checkout(from = import.meta.dirname): string {
  if (existsSync(join(from, entry))) return from
  if (dirname(from) === from) throw new Error(`no ${entry} above ${import.meta.dirname}`)
  return checkout(dirname(from))
}

/** First line of the file, and what packages of the older module system expect to find around them. */
const head = `#!/usr/bin/env node
import { createRequire as svcCreateRequire } from 'node:module'
const require = svcCreateRequire(import.meta.url)
const __filename = import.meta.filename
const __dirname = import.meta.dirname`

/**
 * The agent as one file that runs wherever Node does, saying `version` of itself. The same sources give the same bytes.
 *
 * @param sources the checkout; default: this one
 */
export async function agentFile(version: string, sources = checkout()): Promise<Uint8Array> {
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    absWorkingDir: sources,
    entryPoints: [entry],
    write: false,
    bundle: true,
    minifyWhitespace: true,
    minifySyntax: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    define: { 'process.env.SVC_AGENT_VERSION': JSON.stringify(version) },
    banner: { js: head },
    legalComments: 'none',
    logLevel: 'silent',
  })
  const [file] = outputFiles
  if (!file) throw new Error('the agent was not built')
  return file.contents
}
