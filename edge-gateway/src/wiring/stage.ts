import type { Transport } from '../transport/link.ts'

/** How far a gateway is in its life. The gateway alone changes it, its parts look. */
export interface Stage {
  /** newcomers are let in */
  accepting: boolean
  /** undefined until listening */
  transport: Transport | undefined
  /** the window of a drain that is under way */
  moveWithinMs: number
}
