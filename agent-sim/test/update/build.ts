import { build } from 'esbuild'

/** Stands for the version in the one bundle that all versions are made of. */
const mark = '7777.7777.7777'

const head = `#!/usr/bin/env node
import { createRequire as makeRequire } from 'node:module'
const require = makeRequire(import.meta.url)`

let made: Promise<string> | undefined

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [`${import.meta.dirname}/program.ts`],
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    define: { 'process.env.SVC_AGENT_VERSION': JSON.stringify(mark) },
    banner: { js: head },
    legalComments: 'none',
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}

/** The test's agent of that version, as one file. */
export const agentOf = async (version: string): Promise<Buffer> =>
  Buffer.from((await (made ??= bundle())).replaceAll(mark, version))

/** A program that is signed and ends as soon as it is started. */
export const brokenAgent = (version: string): Buffer =>
  Buffer.from(`#!/usr/bin/env node\n// ${version}\nprocess.exit(3)\n`)
