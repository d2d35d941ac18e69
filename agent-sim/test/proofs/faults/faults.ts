import { gatewayDies } from './f01-gateway-dies.ts'
import { gatewayHangs } from './f02-gateway-hangs.ts'
import { planeDiesAfterCommit } from './f03-plane-dies-after-commit.ts'
import { planeDiesBeforeCommit } from './f04-plane-dies-before-commit.ts'
import { commitUnknown } from './f05-commit-unknown.ts'
import { postgresAway } from './f06-postgres-away.ts'
import { poolExhausted } from './f08-pool-exhausted.ts'
import { lockPile } from './f09-lock-pile.ts'
import { redisKilled } from './f10-redis-killed.ts'
import { redisHangs } from './f11-redis-hangs.ts'
import { slowDevicesCut } from './f12-slow-devices.ts'
import { herd } from './f13-herd.ts'
import { deploy } from './f14-deploy.ts'
import { versionSkew } from './f15-version-skew.ts'
import { gatewayPartitioned } from './f16-gateway-partitioned.ts'
import { splitBrain } from './f17-split-brain.ts'
import { schedulerTwice } from './f18-scheduler-twice.ts'
import { replayedReports } from './f19-replayed-reports.ts'
import { offlinePastExpiry } from './f21-offline-past-expiry.ts'
import { agentCrashes } from './f22-agent-crashes.ts'
import { clockJumps } from './f23-clock-jumps.ts'
import { agentClocks } from './f24-agent-clocks.ts'
import { descriptorsRunOut } from './f28-descriptors-run-out.ts'
import { eventLoopBlocked } from './f30-event-loop-blocked.ts'
import { hostileFramesFault } from './f31-hostile-frames.ts'
import type { Fault } from './fault.ts'

/** The faults of the table, by their number there. */
export const faults: readonly Fault[] = [
  gatewayDies,
  gatewayHangs,
  planeDiesAfterCommit,
  planeDiesBeforeCommit,
  commitUnknown,
  postgresAway,
  poolExhausted,
  lockPile,
  redisKilled,
  redisHangs,
  slowDevicesCut,
  herd,
  deploy,
  versionSkew,
  gatewayPartitioned,
  splitBrain,
  schedulerTwice,
  replayedReports,
  offlinePastExpiry,
  agentCrashes,
  clockJumps,
  agentClocks,
  descriptorsRunOut,
  eventLoopBlocked,
  hostileFramesFault,
]
