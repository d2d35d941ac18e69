/** The smallest value that at least this share (0 to 1) of the values does not exceed. @throws Error without a value */
export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort()
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]
  if (value === undefined) throw new Error('there is no percentile of nothing')
  return value
}

export const median = (values: readonly number[]): number => percentile(values, 0.5)
