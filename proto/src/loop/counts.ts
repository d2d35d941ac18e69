/** What became of this process's event loop; metrics and readiness read it. A process has one, and so one of these. */
export const loopCounts = {
  /** times that it stood still for {@link toldFromMs} or longer */
  blocks: 0,
  /** and how long, together */
  blockedMs: 0,
}

/** A timer is looked at so often: below what is told, above what costs anything. */
export const beatMs = 100
/** It stood still this long: that is told, with what it was busy with. */
export const toldFromMs = 500
/** Of {@link blockedWithinMs} it stood still this long: nothing more should be sent here for now. */
export const blockedFromMs = 5_000
export const blockedWithinMs = 10_000
