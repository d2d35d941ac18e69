export { beatMs, blockedFromMs, blockedWithinMs, loopCounts, toldFromMs } from './counts.ts'
export { isLoopBlocked, type LoopLog, watchLoop } from './watch.ts'
