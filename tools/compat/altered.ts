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

/** The tag of a field that holds a message. */
const tag = (field: number) => field * 8 + 2

/** An agent that says one kind of frame in another field of the envelope, which nobody knows. */
const saysElsewhere = (kind: string, from: number, to: number, folder: string): Promise<void> =>
  alteredAgent(folder, {
    file: /proto\/src\/gen\/svc\.js$/,
    from: new RegExp(`(message\\.${kind}, writer\\.uint32\\()(?:/\\*.*?\\*/)?\\s*${tag(from)}\\)`),
    to: `$1${tag(to)})`,
  })

/** Results are said in field 22 instead of 6. */
export const renumberedAgent = (folder: string): Promise<void> =>
  saysElsewhere('commandResult', 6, 22, folder)

/** Says what became of an update in a frame that is newer than every gateway, without asking whether it is taken. */
export const talkativeAgent = (folder: string): Promise<void> => saysElsewhere('updateStatus', 9, 30, folder)
