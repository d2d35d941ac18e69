/** How many of the moments fall into each bucket, from `from` on; all in the same unit. */
export function counted(moments: readonly number[], from: number, bucket: number, buckets: number): number[] {
  const series = Array.from({ length: buckets }, () => 0)
  for (const moment of moments) {
    const at = Math.floor((moment - from) / bucket)
    if (at >= 0 && at < buckets) series[at] = (series[at] ?? 0) + 1
  }
  return series
}

/** Of a series with itself, so many steps later: 1 is the same again, 0 nothing in common. NaN where nothing ever changes. */
export function autocorrelation(series: readonly number[], lag: number): number {
  const mean = series.reduce((sum, one) => sum + one, 0) / series.length
  const apart = series.map((one) => one - mean)
  const together = apart.slice(lag).reduce((sum, one, at) => sum + one * (apart[at] ?? 0), 0)
  return together / apart.reduce((sum, one) => sum + one * one, 0)
}
