import { limits } from '../../edge-gateway/src/ops/limits.ts'
import { drainWithinMs } from '../../edge-gateway/src/supervisor/supervisor.ts'
import { imageEnvironment } from './compose.ts'

const { maxMoveWindowMs, moveGraceMs, flushWithinMs } = limits

/** What a gateway takes at most to go: everybody is asked to move, what it holds is flushed, claims are released. */
export const gatewayDrainMs = Math.max(maxMoveWindowMs + moveGraceMs + 2 * flushWithinMs, drainWithinMs)

/** DRAIN_MS where nobody says otherwise, and what its pools of connections get to close. */
const [drainMs, poolsMs] = [15_000, 5_000]

/** What a control plane of the image takes at most. */
export const controlPlaneDrainMs =
  Number(imageEnvironment('control-plane')['DRAIN_DELAY_MS']) + drainMs + poolsMs
