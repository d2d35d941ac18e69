import { z } from 'zod'
import { Id } from '../../../../kernel/id.ts'
import { text } from '../../../../kernel/text.ts'

/** `POST /devices/:id/quarantine`. */
export const QuarantineDevice = z
  .strictObject({
    reason: text(200)
      .refine((said) => said.trim() !== '', 'must not be empty')
      .describe('Shown with the device and with each command that ends'),
  })
  .meta({ id: 'QuarantineDevice', examples: [{ reason: 'Stolen from the car on Friday' }] })
export type QuarantineDevice = z.output<typeof QuarantineDevice>

/** `POST /devices/:id/move-org`. */
export const MoveDevice = z
  .strictObject({
    orgId: Id.describe('Another organization of the same partner'),
    siteId: Id.describe('A site of that organization'),
  })
  .meta({
    id: 'MoveDevice',
    examples: [
      { orgId: '0195d0a0-7c11-7000-8000-000000000001', siteId: '0195d0a0-7c11-7000-8000-000000000002' },
    ],
  })
export type MoveDevice = z.output<typeof MoveDevice>
