/** How often Node looks how late it is, unless told otherwise (perf_hooks.monitorEventLoopDelay): what it records is this and the lateness. */
const resolutionMs = 10

/**
 * How late the event loop was since it was last asked, by the process's own /metrics: to ask begins a new period. ms, without the interval at
 * which it looks. @throws Error when that is not told
 */
export async function loopDelay(metricsUrl: string): Promise<{ p99: number; max: number }> {
  const response = await fetch(metricsUrl, { signal: AbortSignal.timeout(10_000) })
  const text = await response.text()
  const read = (name: string) => {
    const value = new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)$`, 'm').exec(text)?.[1]
    const ms = Number(value) * 1_000 - resolutionMs
    if (value === undefined || !Number.isFinite(ms))
      throw new Error(`${metricsUrl} tells no event-loop delay`)
    return Math.max(0, ms)
  }
  return { p99: read('p99'), max: read('max') }
}
