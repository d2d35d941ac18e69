import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../bundle.mjs'
import { banner } from './base.ts'

/** One change of one file, as somebody careless would make it. */
interface Alteration {
  file: RegExp
  from: RegExp
  to: string
}

/**
 * Makes `agent.mjs` of today's agent with an alteration: what the check of versions against each other has to find.
 * @param folder where to
 */
async function alteredAgent(folder: string, { file, from, to }: Alteration): Promise<void> {
  const { build } = await import('esbuild')
  let altered = false
  await build({
    absWorkingDir: root,
    entryPoints: { agent: join(root, 'agent-sim/src/main.ts') },
    outdir: folder,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    outExtension: { '.js': '.mjs' },
    banner: { js: banner },
    logLevel: 'silent',
    plugins: [
      {
        name: 'alter',
        setup: (at) =>
          at.onLoad({ filter: file }, ({ path }) => {
            const text = readFileSync(path, 'utf8')
            const contents = text.replace(from, to)
            altered ||= contents !== text
            return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' }
          }),
      },
    ],
  })
  if (!altered) throw new Error(`there is nothing to alter: ${from}`)
}

/** Results are said in field 22 of the envelope instead of 6: nobody knows that one. */
export const renumberedAgent = (folder: string): Promise<void> =>
  alteredAgent(folder, {
    file: /proto\/src\/gen\/svc\.js$/,
    from: /(message\.commandResult, writer\.uint32\()(?:\/\*.*?\*\/)?50\)/,
    to: '$1178)',
  })

/** Says to every gateway what only newer ones know. */
export const talkativeAgent = (folder: string): Promise<void> =>
  alteredAgent(folder, {
    file: /proto\/src\/codec\.ts$/,
    from: /const firstUpKinds = \[2, /,
    to: 'const firstUpKinds = [9, 2, ',
  })
