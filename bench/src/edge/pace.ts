/** The gateway turns away more than 2,000 newcomers per second, but 4,000 in one go: `helloPerSecond` and `helloBurst` of its limits. */
const [sustained, atOnce] = [1_900, 3_500]
/** The load client's part of a handshake takes a millisecond of the core that the control plane is on, which must answer in time. */
const overTls = 250

/**
 * How many connections a second do not meet that limit. All sides are paced alike.
 * @param together sides that connect at the same time: all of them share what serves the gateways
 */
export const connectionsPerSecond = (
  connections: number,
  { tls = false, together = 1 }: { tls?: boolean; together?: number } = {},
): number => {
  if (connections <= atOnce) return Number.MAX_SAFE_INTEGER
  return Math.min(sustained / together, tls ? overTls : Number.MAX_SAFE_INTEGER)
}
