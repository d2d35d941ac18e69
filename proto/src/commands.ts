import { z } from 'zod'

/** How long the agent may take, once it has started. */
export const timeoutClasses = { short: 30_000, medium: 300_000, long: 3_600_000 } as const
export type TimeoutClass = keyof typeof timeoutClasses

/** Lanes keep one stuck command from blocking another kind. The number is what one device may have in flight. */
export const lanes = { interactive: 4, work: 2, bulk: 1 } as const
export type Lane = keyof typeof lanes

/** Interactive commands are worthless late; the rest wait a week for a device. */
export const expiresAfterMs = { interactive: 60_000, work: 7 * 86_400_000, bulk: 7 * 86_400_000 } as const

export interface CommandType {
  args: z.ZodType
  result: z.ZodType
  permission: 'devices:execute' | 'scripts:execute'
  timeout: TimeoutClass
  lane: Lane
  /** changes the device in a way that cannot be taken back by running it again */
  destructive: boolean
  /** a second one is refused while one is pending (409 `ALREADY_PENDING`) */
  onePending: boolean
  /** the agent's own limit from the arguments, where they say one */
  timeoutMs?: (args: never) => number
}

const Process = z.object({
  pid: z.int(),
  parentPid: z.int(),
  name: z.string(),
  commandLine: z.string(),
  user: z.string(),
  state: z.string(),
  cpuPercent: z.number(),
  ramBytes: z.int(),
  startedAt: z.iso.datetime().nullable(),
})

const RunScriptArgs = z.strictObject({
  interpreter: z
    .enum(['sh', 'bash', 'python3', 'powershell', 'cmd'])
    .describe('Runs the script; must be on the device'),
  content: z.string().min(1).max(262_144).describe('The script itself, at most 262,144 characters'),
  args: z
    .array(z.string().max(4096))
    .max(64)
    .default([])
    .describe('Its arguments: at most 64, of 4,096 characters each'),
  timeoutSeconds: z.int().min(1).max(3600).default(300).describe('Then the agent kills it'),
})

/**
 * The closed list of what a device can be told to do. An entry's zod schemas are the only schemas of its arguments and of its
 * structured result.
 */
export const commandTypes = {
  refresh_inventory: {
    args: z.strictObject({}),
    result: z.object({ collected: z.array(z.string()) }),
    permission: 'devices:execute',
    timeout: 'medium',
    lane: 'work',
    destructive: false,
    onePending: true,
  },
  list_processes: {
    args: z.strictObject({
      page: z.int().min(1).default(1).describe('From 1'),
      limit: z.int().min(1).max(500).default(50).describe('Processes of a page'),
      search: z.string().max(255).optional().describe('A part of the name or command line'),
      sortBy: z.enum(['cpu', 'ram', 'pid', 'name']).default('cpu').describe('What they are ordered by'),
      sortDesc: z.boolean().default(true).describe('Largest first'),
    }),
    result: z.object({ processes: z.array(Process), total: z.int(), page: z.int(), limit: z.int() }),
    permission: 'devices:execute',
    timeout: 'short',
    lane: 'interactive',
    destructive: false,
    onePending: false,
  },
  run_script: {
    args: RunScriptArgs,
    result: z.null(),
    permission: 'scripts:execute',
    timeout: 'long',
    lane: 'work',
    destructive: true,
    onePending: false,
    timeoutMs: (args: z.output<typeof RunScriptArgs>) => args.timeoutSeconds * 1000,
  },
} as const satisfies Record<string, CommandType>

export type CommandTypeName = keyof typeof commandTypes
export const commandTypeNames = Object.keys(commandTypes) as [CommandTypeName, ...CommandTypeName[]]
export type CommandArgs<T extends CommandTypeName> = z.output<(typeof commandTypes)[T]['args']>
export type CommandResultOf<T extends CommandTypeName> = z.output<(typeof commandTypes)[T]['result']>

/** What the agent is given to finish one command, in milliseconds. */
export const timeoutOf = (type: CommandTypeName, args: unknown): number => {
  const entry: CommandType = commandTypes[type]
  return entry.timeoutMs ? entry.timeoutMs(args as never) : timeoutClasses[entry.timeout]
}
