import { parseArgs } from 'node:util'
import { misread, unknown } from '../../../tools/command-line.mjs'
import { findRedisServer } from '../../../tools/services.ts'
import { findHaproxy } from './haproxy.ts'
import { OwnPostgres } from './own-postgres.ts'
import { everyGuard, type Proof, type ProofOptions, proofs } from './proofs.ts'
import { passed, tableOf } from './verdict.ts'

const usage = `npm run proof -- NAME [switches]

${Object.entries(proofs)
  .map(
    ([
      name,
      {
        about,
        plants,
        needs = [],
        parts = [],
        defaults: { seconds, agents, rate, frames },
      },
    ]) =>
      [
        `  ${name.padEnd(12)} ${about}`,
        `default --seconds ${seconds} --agents ${agents} --rate ${rate}${frames ? ` --frames ${frames}` : ''}; needs ${['redis-server', ...needs].join(', ')}`,
        plants.includes(everyGuard) ? '--plant' : `--plant ${plants.join(' | ')}`,
        ...(parts.length > 0 ? [`--only ${parts.join()}`] : []),
      ].join(`\n${' '.repeat(15)}`),
  )
  .join('\n')}

  --seconds N   how long what is proven lasts
  --agents N    how many simulated devices
  --rate N      commands per second
  --frames N    mutated frames on each transport, where a proof has such
  --seed N      for the same choices again; printed
  --plant X     takes a guard away: the proof must fail then
  --plant       takes from each part its guard: each must fail then, and that is what passes
  --only A,B    of what has parts, these

Exits with 1 when something was not as it must be, with 2 when it could not be tried.`

/** A `--plant` that names none means each. */
const argumentsOf = (args: readonly string[]): string[] =>
  args.flatMap((arg, at) =>
    arg === '--plant' && (args[at + 1] ?? '--').startsWith('--') ? [arg, everyGuard] : [arg],
  )

function parse() {
  const text = { type: 'string' } as const
  const options = {
    seconds: text,
    agents: text,
    rate: text,
    frames: text,
    seed: text,
    plant: text,
    only: text,
    help: { type: 'boolean' },
  } as const
  try {
    return parseArgs({ args: argumentsOf(process.argv.slice(2)), allowPositionals: true, options })
  } catch (error) {
    throw new Error(misread(error))
  }
}

interface Asked {
  name: string
  proof: Proof
  options: Omit<ProofOptions, 'database' | 'say'>
}

/** What the command line asks for; undefined: what there is. */
function read(): Asked | undefined {
  const { values, positionals } = parse()
  const [name, ...more] = positionals
  if (values.help || name === undefined) return undefined
  const proof = Object.hasOwn(proofs, name) ? proofs[name] : undefined
  if (!proof) throw new Error(unknown('proof', name, Object.keys(proofs)))
  if (more.length > 0) throw new Error(`One proof at a time, not ${positionals.join(' ')}`)
  const { plant } = values
  if (plant !== undefined && !proof.plants.includes(plant))
    throw new Error(`--plant: one of ${proof.plants.join(', ')}`)
  const only = values.only?.split(',')
  const stray = only?.find((part) => !proof.parts?.includes(part))
  if (stray !== undefined)
    throw new Error(`--only: some of ${proof.parts?.join(', ') || 'nothing'}, not ${stray}`)
  const whole = (what: 'seconds' | 'agents' | 'rate' | 'frames' | 'seed', otherwise: number) => {
    const value = Number(values[what] ?? otherwise)
    if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${what}: a whole number above zero`)
    return value
  }
  const { seconds, agents, rate, frames } = proof.defaults
  const seed = whole('seed', Math.ceil(Math.random() * 1_000_000))
  const numbers = {
    seconds: whole('seconds', seconds),
    agents: whole('agents', agents),
    rate: whole('rate', rate),
    ...(frames && { frames: whole('frames', frames) }),
  }
  return { name, proof, options: { ...numbers, seed, plant, only } }
}

/** A database on a server of this run, which syncs to disk as one in production does. */
async function withDatabase<T>(
  work: (database: NonNullable<ProofOptions['database']>) => Promise<T>,
): Promise<T> {
  const server = await OwnPostgres.start()
  try {
    return await work({ ...server.database, drop: async () => undefined })
  } finally {
    await server.close()
  }
}

async function main(): Promise<number> {
  const asked = read()
  if (!asked) {
    console.log(usage)
    return 0
  }
  const { name, proof, options } = asked
  if (!findRedisServer()) throw new Error('there is no redis-server on PATH')
  if (proof.needs?.includes('haproxy') && !findHaproxy()) throw new Error('there is no haproxy on PATH')
  const began = Date.now()
  const say = (line: string) =>
    console.log(`${((Date.now() - began) / 1000).toFixed(1).padStart(7)} s  ${line}`)
  const { plant, only, ...numbers } = options
  const given = Object.entries(numbers).map(([what, value]) => `--${what} ${value}`)
  if (only) given.push(`--only ${only.join()}`)
  say([name, ...given, ...(plant ? [`--plant ${plant}`] : [])].join(' '))
  const rows = proof.ownDatabase
    ? await proof.run({ ...options, say })
    : await withDatabase((database) => proof.run({ ...options, database, say }))
  console.log(`\n${tableOf(rows)}`)
  return passed(rows) ? 0 : 1
}

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    console.error(error.message)
    process.exit(2)
  },
)
