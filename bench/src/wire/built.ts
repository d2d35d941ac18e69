import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'

/** The programs that a bench starts beside the product, each in a process of its own. */
const entryPoints = {
  wire: join(import.meta.dirname, 'main.ts'),
  ws: join(import.meta.dirname, '../peers/ws-server.ts'),
  aedes: join(import.meta.dirname, '../peers/aedes-server.ts'),
  meshcentral: join(import.meta.dirname, '../peers/meshcentral/server.ts'),
  floor: join(import.meta.dirname, '../peers/floor-server.ts'),
  fastify: join(import.meta.dirname, '../api/peers/fastify.ts'),
  http: join(import.meta.dirname, '../api/peers/http.ts'),
  answering: join(import.meta.dirname, '../api/command/answering.ts'),
}
export type Program = keyof typeof entryPoints

/** What packages of the older module system expect to find around them. */
const commonJs = `
import { createRequire as benchRequire } from 'node:module'
const require = benchRequire(import.meta.url)`

let folder: Promise<string> | undefined

/** A program as plain JavaScript with all that it needs: no loader is in the process that is measured. */
export async function builtProgram(name: Program): Promise<string> {
  return join(await (folder ??= make()), `${name}.mjs`)
}

async function make(): Promise<string> {
  const outdir = mkdtempSync(join(tmpdir(), 'svc-bench-programs-'))
  process.once('exit', () => rmSync(outdir, { recursive: true, force: true }))
  await build({
    entryPoints,
    outdir,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    outExtension: { '.js': '.mjs' },
    banner: { js: commonJs },
    logLevel: 'silent',
  })
  return outdir
}
