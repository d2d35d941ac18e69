import type { CommandArgs } from '@svc/proto'
import { type Clock, pause } from '../../clock.ts'
import type { Context, Done } from '../behaviour.ts'
import { outputOf } from '../output.ts'

/**
 * A script on a machine that does not exist. Line by line: `echo TEXT` (with `>&2`: to stderr) and `print("TEXT")` say something,
 * `sleep SECONDS` waits, `exit CODE` ends; blank lines and comments do nothing; any other line is said as it stands. `$1` to `$9`
 * and `$@` are the arguments. The same script and arguments always give the same answer.
 */
export async function simulateScript(
  { content, args }: CommandArgs<'run_script'>,
  { signal }: Context,
  clock: Clock,
): Promise<Done> {
  const said = { stdout: '', stderr: '' }
  let exitCode = 0
  for (const line of content.split('\n').map((text) => text.trim())) {
    if (signal.aborted) break
    const step = understand(line, args)
    if ('say' in step) said[step.to] += `${step.say}\n`
    if ('sleepMs' in step) await pause(clock, step.sleepMs, signal)
    if ('exit' in step) {
      exitCode = step.exit
      break
    }
  }
  const outputs = { stdout: asOutput(said.stdout), stderr: asOutput(said.stderr), result: null }
  return exitCode === 0 ? { exitCode, ...outputs } : { exitCode, failed: `exit code ${exitCode}`, ...outputs }
}

const asOutput = (text: string) => outputOf(Buffer.from(text), Buffer.byteLength(text))

type Step =
  | { say: string; to: 'stdout' | 'stderr' }
  | { sleepMs: number }
  | { exit: number }
  | { nothing: true }

function understand(line: string, args: readonly string[]): Step {
  const [, word = '', rest = ''] = /^(\S*)\s*(.*)$/.exec(line) ?? []
  if (line === '' || line.startsWith('#')) return { nothing: true }
  if (word === 'exit') return { exit: Number.parseInt(rest, 10) & 0xff }
  if (word === 'sleep') return { sleepMs: Math.max(0, Number.parseFloat(rest) || 0) * 1000 }
  const to = />&2/.test(rest) ? 'stderr' : 'stdout'
  const text = word === 'echo' ? rest.replace(/\s*1?>&2\s*/, '') : (/^print\((.*)\)$/.exec(line)?.[1] ?? line)
  return { say: filled(unquoted(text), args), to: word === 'echo' ? to : 'stdout' }
}

const unquoted = (text: string) => /^(["'])(.*)\1$/.exec(text)?.[2] ?? text

const filled = (text: string, args: readonly string[]) =>
  text
    .replaceAll(/\$([1-9])/g, (_, digit: string) => args[Number(digit) - 1] ?? '')
    .replaceAll('$@', args.join(' '))
