/** Everything that would take minutes, in seconds: a heartbeat a minute and what belongs to it, at a fraction of its times. */
export const numbers = {
  heartbeatMs: 2_000,
  commandLeaseMs: 3_000,
  goneAfterMs: 8_000,
  silentAfterMs: 12_000,
  watermarkStaleMs: 10_000,
  watermarkGapMs: 10_000,
  deviceSweepMs: 300,
  commandSweepMs: 300,
  workerLeaseMs: 3_000,
  workerRenewMs: 1_000,
} as const

const { heartbeatMs, ...pipeline } = numbers

/** As the control plane's environment says them: `goneAfterMs` is GONE_AFTER_MS. */
export const numberVariables: Record<string, string> = {
  HEARTBEAT_INTERVAL_MS: String(heartbeatMs),
  ...Object.fromEntries(
    Object.entries(pipeline).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
      String(value),
    ]),
  ),
}
