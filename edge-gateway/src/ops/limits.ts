/** Every bound of the gateway, with its reason. All of them are shown by `/health`. */
export const limits = {
  /** identity must be shown by then: a socket that says nothing costs memory for no one */
  helloWithinMs: 5_000,
  /** and be decided by then: one answer of a slow Redis and one of a slow control plane fit in */
  admitWithinMs: 10_000,
  /** connections without a decided identity at a time; each may make the engine buffer one frame */
  maxNewcomers: 4_096,
  /**
   * connections of one address without an identity: at once, and how many more per second. One that turns out to be a
   * device's counts no more, so that an office behind one address is not held up
   */
  knocksPerAddress: 200,
  knocksPerAddressPerSecond: 10,
  /** addresses that this is kept for; beyond them the first is forgotten */
  maxKnockingAddresses: 65_536,
  /** admissions per second and in one go: a core does several thousand, and heartbeats of the others must go on */
  helloPerSecond: 2_000,
  helloBurst: 4_000,
  /** those refused come back spread over at least this window */
  retryWindowMs: 5_000,
  /** ... and at most this one */
  maxRetryWindowMs: 60_000,
  /** bytes accepted for one peer and not yet on the wire: a slow reader costs no more than this */
  maxBacklogBytes: 1024 * 1024,
  /** frames in that backlog */
  maxBacklogFrames: 256,
  /** QoS 1 publications of one device that wait for the up-stream, before its connection is read no further */
  maxUnacknowledged: 64,
  /** a heartbeat is small; one of each device is held while the bus is away */
  maxHeartbeatBytes: 16 * 1024,
  /** frames of one device in one go and per second: whoever comes back with a long backlog fits, and a flood is cut before it is stored */
  frameBurst: 1_000,
  framesPerSecond: 100,
  /** silent connections are pinged before common proxies give up on them (60 s) */
  idleSeconds: 56,
  /** a live device that has said nothing for so many of its heartbeat intervals is cut: the connection lies */
  silentIntervals: 2.5,
  /** resolution of the timer wheel */
  tickMs: 250,
  /** the up-streams: a batch goes at this age, or size, whichever comes first */
  flushEveryMs: 250,
  /**
   * ... but one of mere heartbeats only this long after the entry before: whoever sent them has its answer, and each entry costs a
   * transaction. A row is no staler than this and what that takes, under 2 s
   */
  heartbeatsEveryMs: 1_000,
  /** acks and progress wait so long for company, or for their result, which waits for nothing */
  urgentWithinMs: 5,
  maxBatchItems: 1_000,
  /** below the 4 MiB of a stream entry, with room for what sizes are estimated by */
  maxBatchBytes: 3.75 * 1024 * 1024,
  /** under the 5 s that the presence sweep relies on */
  watermarkEveryMs: 4_500,
  /** what is held while the bus is away and only the agent could send again */
  maxHeldItems: 20_000,
  maxHeldBytes: 64 * 1024 * 1024,
  /** first and longest pause after a refused append */
  retryAppendMs: 100,
  maxRetryAppendMs: 2_000,
  /** a revocation that acts later than this is late (promise P7) */
  revokeWithinMs: 5_000,
  /** the lease of this node that an exchange renews: without it commands go to nobody here, so newcomers are sent elsewhere */
  leaseMs: 15_000,
  /** lease of this node and age of its revocations: two lost polls still act within 5 s (promise P7) */
  exchangeEveryMs: 2_000,
  exchangeWithinMs: 3_000,
  /** batches carried up in one call: with the control plane's 8 MiB for a body there is room for one that is larger by itself */
  maxCarriedBytes: 4 * 1024 * 1024,
  /** such a call may take longer: the control plane commits what it carries, and nobody else waits for it */
  carryWithinMs: 10_000,
  /** after the bus is back: control planes and workers have found it again by then */
  busSettlesMs: 6_000,
  /** devices asked about in one exchange */
  maxAdmissionsPerExchange: 500,
  /** devices waiting for an exchange */
  maxAdmissionsWaiting: 20_000,
  /** drain: peers leave within this window at this rate, then the rest is closed */
  minMoveWindowMs: 1_000,
  maxMoveWindowMs: 60_000,
  movesPerSecond: 500,
  /** after the window: for peers that lag behind */
  moveGraceMs: 2_000,
  /** a gateway that was told to end is gone by then, whatever it still waits for */
  exitWithinMs: 120_000,
  /** the last flush of a closing gateway */
  flushWithinMs: 5_000,
  /** file descriptors in use, as a share of what the process may have, at which listening stops and below which it begins again */
  pauseAtShare: 0.95,
  resumeBelowShare: 0.9,
  /** how often they are counted anew: what is not a connection yet is seen then */
  descriptorsEveryMs: 500,
  /** claims released or held in one round trip */
  claimChunk: 500,
}

export type Limits = Record<keyof typeof limits, number>
