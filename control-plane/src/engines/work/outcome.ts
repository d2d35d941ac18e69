import { type CommandTypeName, commandTypes, maxOutputBytes, svc } from '@svc/proto'
import { storable } from '../../db/array-literal.ts'
import type { Outcome } from './states.ts'

const outcomeNames: Partial<Record<svc.v1.Outcome, Outcome>> = {
  [svc.v1.Outcome.SUCCEEDED]: 'succeeded',
  [svc.v1.Outcome.FAILED]: 'failed',
  [svc.v1.Outcome.TIMED_OUT]: 'timed_out',
  [svc.v1.Outcome.CANCELLED]: 'cancelled',
  [svc.v1.Outcome.EXPIRED]: 'expired',
  [svc.v1.Outcome.REJECTED]: 'rejected',
  [svc.v1.Outcome.INTERRUPTED]: 'interrupted',
}

/** Longest error text that is kept, in characters. */
const maxError = 4_096
/** Nothing runs longer; a device that says so has a broken clock. */
const maxRanMs = 7 * 86_400_000

export interface Output {
  data: Uint8Array
  encoding: string
  size: number
  truncated: boolean
}

/** A device's result as it is kept. */
export interface Finish {
  outcome: Outcome
  exitCode: number | null
  stdout: Output | undefined
  stderr: Output | undefined
  /** JSON text, or null */
  result: string | null
  error: string | null
  /** how long it ran by the device's own clock; null: not said */
  ranMs: number | null
}

/**
 * Reads what a device says came of a command. The outcome is the device's word, and so is kept even where the structured result
 * does not have its type's shape: then there is no result, and `error` says why. An outcome that this version does not know
 * counts as failed.
 */
export function readResult(type: string, said: svc.v1.ICommandResult): Finish {
  const outcome = outcomeNames[said.outcome ?? 0]
  const { result, problem } = readStructured(type, said.result, outcome)
  const notes = [said.error, outcome ? undefined : `unknown outcome ${said.outcome}`, problem].filter(Boolean)
  const ran = (said.finishedAtMs ?? 0) - (said.startedAtMs ?? 0)
  return {
    outcome: outcome ?? 'failed',
    exitCode: said.exitCode ?? null,
    stdout: readOutput(said.stdout),
    stderr: readOutput(said.stderr),
    result,
    error: notes.length > 0 ? storable(notes.join('; ').slice(0, maxError)) : null,
    ranMs: said.startedAtMs && ran >= 0 && ran <= maxRanMs ? ran : null,
  }
}

/** The bytes as they came, up to the limit; how many there were is kept beside them. */
function readOutput(output: svc.v1.IOutput | null | undefined): Output | undefined {
  if (!output) return undefined
  const data = output.data ?? new Uint8Array()
  const size = Math.min(Math.max(data.length, output.originalSize ?? 0), Number.MAX_SAFE_INTEGER)
  return {
    data: data.subarray(0, maxOutputBytes),
    encoding: storable((output.encoding ?? '').slice(0, 64)),
    size,
    truncated: output.truncated === true || size > Math.min(data.length, maxOutputBytes),
  }
}

function readStructured(
  type: string,
  bytes: Uint8Array | null | undefined,
  outcome: Outcome | undefined,
): { result: string | null; problem?: string } {
  const entry = Object.hasOwn(commandTypes, type) ? commandTypes[type as CommandTypeName] : undefined
  if (!entry) return { result: null, problem: `results of ${type} are not known here` }
  const given = bytes && bytes.length > 0
  if (!given && outcome !== 'succeeded') return { result: null }
  try {
    const parsed = entry.result.safeParse(given ? JSON.parse(Buffer.from(bytes).toString()) : null)
    if (parsed.success) return { result: parsed.data === null ? null : jsonText(parsed.data) }
    const where = parsed.error.issues[0]
    return {
      result: null,
      problem: `the result is not one of ${type}: ${where?.path.join('.')} ${where?.message}`,
    }
  } catch (error) {
    return { result: null, problem: `the result is not JSON: ${(error as Error).message}` }
  }
}

/** What Postgres can keep as jsonb: NUL and lone surrogates inside text are visibly replaced. */
const jsonText = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === 'string' ? storable(part) : part))
