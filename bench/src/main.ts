import { parseArgs } from 'node:util'
import { misread, unknown } from '../../tools/command-line.mjs'
import { benches } from './benches.ts'
import { progressOn } from './method/progress.ts'
import { writeResult } from './method/results.ts'
import { runBench } from './method/run.ts'
import { tableOf } from './method/table.ts'
import { Undo } from './method/undo.ts'

const usage = `npm run bench -- NAME [switches]

${Object.entries(benches)
  .map(
    ([
      name,
      {
        about,
        scale: { full, quick, of },
      },
    ]) =>
      `  ${name.padEnd(12)} ${about}\n${' '.repeat(15)}default --scale ${full} (${of}), with --quick ${quick}`,
  )
  .join('\n')}
  report       docs/performance.md, from the results that are kept

  --quick       small and short: to see that it runs
  --rounds N    of each side, in turn (default 5, with --quick 2)
  --scale N     of whatever the bench counts in
  --json        the whole result on standard output, instead of a table
  --out FILE    where the result goes (default bench/results/, with --quick nowhere)`

const [fewRounds, enoughRounds] = [2, 5]
/** sysexits.h and what a signal makes of a shell's child. */
const exitCodes = { failed: 1, usage: 64, interrupted: 130 } as const

const quit = (line: string, code: number): never => {
  process.stderr.write(`${line}\n`)
  process.exit(code)
}

const whole = (name: string, given: string | undefined, otherwise: number): number => {
  const value = given === undefined ? otherwise : Number(given)
  return Number.isSafeInteger(value) && value > 0
    ? value
    : quit(`--${name}: a whole number above zero`, exitCodes.usage)
}

function read() {
  const [text, flag] = [{ type: 'string' }, { type: 'boolean' }] as const
  const options = { quick: flag, json: flag, rounds: text, scale: text, out: text, help: flag }
  try {
    return parseArgs({ allowPositionals: true, options })
  } catch (error) {
    return quit(misread(error), exitCodes.usage)
  }
}

async function main(): Promise<void> {
  const { values, positionals } = read()
  const [name, ...rest] = positionals
  if (values.help || name === undefined) {
    process.stdout.write(`${usage}\n`)
    return
  }
  const entry = Object.hasOwn(benches, name) ? benches[name] : undefined
  if (!entry) return quit(unknown('bench', name, [...Object.keys(benches), 'report']), exitCodes.usage)
  if (rest.length > 0) return quit(`One bench at a time, not ${positionals.join(' ')}`, exitCodes.usage)
  const { quick = false, json = false, out } = values
  const undo = new Undo()
  const progress = progressOn(process.stderr)
  let interrupted = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      interrupted = true
      void undo.run().then(() => process.exit(exitCodes.interrupted))
    })
  try {
    const result = await runBench(await entry.load(), {
      quick,
      rounds: whole('rounds', values.rounds, quick ? fewRounds : enoughRounds),
      scale: whole('scale', values.scale, quick ? entry.scale.quick : entry.scale.full),
      progress,
      undo,
    })
    progress.clear()
    process.stdout.write(`${json ? JSON.stringify(result, null, 2) : tableOf(result)}\n`)
    if (!quick || out !== undefined) process.stderr.write(`kept in ${writeResult(result, out)}\n`)
  } catch (error) {
    progress.clear()
    // What was under way when it was interrupted had to fail.
    if (!interrupted) process.stderr.write(`${name}: ${(error as Error).stack}\n`)
    process.exitCode = interrupted ? exitCodes.interrupted : exitCodes.failed
  } finally {
    for (const failure of await undo.run()) {
      process.stderr.write(`${name}: not undone: ${failure.message}\n`)
      process.exitCode = exitCodes.failed
    }
  }
  // What a bench left behind must not keep a finished run from ending.
  process.exit()
}

await main()
