/** Everything that would take minutes, in seconds: as long as an outage of so many seconds allows it. */
export const paceOf = (outageSeconds: number) => {
  const heartbeatMs = outageSeconds < 60 ? 5_000 : 10_000
  return {
    heartbeatMs,
    /** a gateway asks the control plane at least this often */
    exchangeMs: 2_000,
    commandLeaseMs: 3_000,
    goneAfterMs: 1.6 * heartbeatMs,
    silentAfterMs: 3 * heartbeatMs,
  }
}
export type Pace = ReturnType<typeof paceOf>

/** As the control plane's environment says them. */
export const variablesOf = (pace: Pace): Record<string, string> => ({
  HEARTBEAT_INTERVAL_MS: String(pace.heartbeatMs),
  COMMAND_LEASE_MS: String(pace.commandLeaseMs),
  GONE_AFTER_MS: String(pace.goneAfterMs),
  SILENT_AFTER_MS: String(pace.silentAfterMs),
})
