import { type CommandType, type CommandTypeName, commandTypeNames, commandTypes } from '@svc/proto'
import { z } from 'zod'
import { commandStates } from '../../../../engines/work/states.ts'
import { Moment } from '../../../../kernel/moment.ts'
import { wholeNumber } from '../../../../kernel/query-text.ts'

/** One command type's own body: its `payload` is what `proto/src/commands.ts` says, and may be left out where nothing is required. */
function bodyOf(type: CommandTypeName) {
  const { args }: CommandType = commandTypes[type]
  const optional = args.safeParse({}).success
  return z.strictObject({
    type: z.literal(type).describe('What the device is to do'),
    payload: (optional ? args.prefault({}) : args).describe(
      optional ? 'Arguments; all have defaults' : 'Arguments',
    ),
    expiresAt: Moment.optional().describe(
      `Never started after it. Left out: ${commandTypes[type].lane === 'interactive' ? 'one minute' : 'seven days'} from now`,
    ),
  })
}

const [first, ...rest] = commandTypeNames

/** `POST /devices/:id/commands`. Never started after `expiresAt`: a minute for interactive types, else seven days. */
export const SendCommand = z.discriminatedUnion('type', [bodyOf(first), ...rest.map(bodyOf)]).meta({
  id: 'SendCommand',
  examples: [
    { type: 'refresh_inventory' },
    { type: 'list_processes', payload: { sortBy: 'ram', limit: 20 } },
    { type: 'run_script', payload: { interpreter: 'sh', content: 'uname -a', timeoutSeconds: 60 } },
  ],
})
export type SendCommand = z.output<typeof SendCommand>

/** What the sender gets: accepted and committed (promise P1). */
export const Accepted = z
  .object({
    id: z.uuid(),
    deviceId: z.uuid(),
    type: z.enum(commandTypeNames),
    status: z.literal('queued'),
    expiresAt: z.date(),
    createdAt: z.date(),
  })
  .meta({
    id: 'AcceptedCommand',
    description: 'Committed: it will be offered to the device until `expiresAt`.',
  })
export type Accepted = z.output<typeof Accepted>

/** A command without its output. `issuedBy`: `user:<id>`, `api-key:<id>` or `system`. `attempt`: how often it was offered. */
export const CommandRow = z
  .object({
    id: z.uuid(),
    deviceId: z.uuid(),
    type: z.enum(commandTypeNames),
    status: z.enum(commandStates),
    payload: z.record(z.string(), z.unknown()),
    issuedBy: z.string().describe('`user:<id>`, `api-key:<id>` or `system`'),
    createdAt: z.date(),
    notBefore: z.date(),
    expiresAt: z.date(),
    cancelRequestedAt: z.date().nullable(),
    deliveredAt: z.date().nullable(),
    startedAt: z.date().nullable(),
    finishedAt: z.date().nullable(),
    exitCode: z.int().nullable(),
    error: z.string().nullable(),
    attempt: z.int().describe('How often it was offered to the device'),
  })
  .meta({ id: 'CommandRow', description: 'A command without its output.' })
export type CommandRow = z.output<typeof CommandRow>

/** One output stream: see `OutputView`, which makes it. */
export const Output = z
  .object({
    text: z.string().describe('Decoded as far as that is possible'),
    encoding: z.string().nullable().describe('Of the bytes, as the agent says; null when it does not know'),
    size: z.int().describe('Bytes that the command wrote'),
    truncated: z.boolean().describe('More was written than the 1 MiB that is kept'),
    lossy: z.boolean().describe('The text does not tell all; `base64` does'),
    base64: z.string().optional().describe('The kept bytes exactly'),
  })
  .meta({ id: 'CommandOutput', description: 'One output stream of a command.' })

/** A command with all that came of it. `result` has the shape that its type declares; output is null before there is any. */
export const CommandDetail = CommandRow.extend({
  stdout: Output.nullable(),
  stderr: Output.nullable(),
  result: z.unknown().describe('What this type of command finds out; null when there is nothing'),
  lateResult: z
    .unknown()
    .describe('What the device reported after the command had ended, which changed nothing; null: nothing'),
}).meta({ id: 'Command', description: 'A command with all that came of it.' })
export type CommandDetail = z.output<typeof CommandDetail>

/** How long to wait for the end before answering with what there is. */
export const Wait = z.strictObject({
  waitMs: wholeNumber(0, 30_000)
    .default(0)
    .describe('Milliseconds to wait for a final state; 0 when left out'),
})
export type Wait = z.output<typeof Wait>
