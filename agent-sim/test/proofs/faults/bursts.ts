/** Errors so close to one another are of one burst. */
const apartMs = 1_000

/** How long the longest burst lasted. @param times in milliseconds */
export function longestBurstMs(times: readonly number[]): number {
  let longest = 0
  let began = Number.NEGATIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const at of times.toSorted((a, b) => a - b)) {
    if (at - last > apartMs) began = at
    longest = Math.max(longest, at - began)
    last = at
  }
  return longest
}
