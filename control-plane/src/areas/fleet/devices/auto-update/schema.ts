import { z } from 'zod'

/** `POST /devices/:id/auto-update` (interface §Devices). */
export const SetAutoUpdate = z
  .strictObject({ enabled: z.boolean().describe('Whether the agent takes updates that it is offered') })
  .meta({ id: 'SetAutoUpdate', examples: [{ enabled: false }] })
export type SetAutoUpdate = z.output<typeof SetAutoUpdate>

export const AutoUpdateSet = z
  .object({
    success: z.literal(true),
    enabled: z.boolean(),
    configVersion: z.int().describe('The agent has it once it reports this version'),
  })
  .meta({ id: 'AutoUpdateSet', description: 'What the agent is told, at once or with its next heartbeat.' })
export type AutoUpdateSet = z.output<typeof AutoUpdateSet>
