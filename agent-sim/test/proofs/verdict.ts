/** One thing that was to be seen, and what was. */
export interface Row {
  what: string
  expected: string
  seen: string
  pass: boolean
}

export const passed = (rows: readonly Row[]): boolean => rows.every(({ pass }) => pass)

/** For people: one line each, and the verdict. */
export function tableOf(rows: readonly Row[]): string {
  const head = ['', 'what', 'expected', 'seen']
  const cells = rows.map(({ what, expected, seen, pass }) => [pass ? 'pass' : 'FAIL', what, expected, seen])
  const widths = head.map((name, at) => Math.max(name.length, ...cells.map((row) => row[at]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd()
  const failures = rows.filter(({ pass }) => !pass).length
  const verdict =
    failures === 0 ? `PASS: ${rows.length} of ${rows.length}` : `FAIL: ${failures} of ${rows.length}`
  return [line(head), ...cells.map(line), verdict].join('\n')
}

/** Everything that is wrong, counted; a few of them are shown. */
export const none = (what: string, faults: readonly string[]): Row => ({
  what,
  expected: 'none',
  seen: faults.length === 0 ? 'none' : `${faults.length}: ${faults.slice(0, 3).join('; ')}`,
  pass: faults.length === 0,
})

/** So many of so many. */
export const all = (what: string, wanted: number, seen: number): Row => ({
  what,
  expected: String(wanted),
  seen: String(seen),
  pass: seen === wanted && wanted > 0,
})

/** The longest of some spans, which were measured at least once. */
export function within(what: string, limitMs: number, spansMs: readonly number[]): Row {
  const longest = Math.max(...spansMs)
  const seen = spansMs.length === 0 ? 'nothing was measured' : `${seconds(longest)} (of ${spansMs.length})`
  return {
    what,
    expected: `≤ ${seconds(limitMs)}`,
    seen,
    pass: spansMs.length > 0 && longest <= limitMs,
  }
}

export const seconds = (ms: number): string => (Number.isFinite(ms) ? `${(ms / 1000).toFixed(1)} s` : 'never')

/** The value below which that share of them lies; NaN of none. */
export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(share * values.length) - 1)] ??
  Number.NaN
