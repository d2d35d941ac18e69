/** The gateway turns away more than 2,000 newcomers per second, but 4,000 in one go: `helloPerSecond` and `helloBurst` of its limits. */
const [sustained, atOnce] = [1_900, 3_500]

/** How many connections a second do not meet that limit. All sides are paced alike. */
export const connectionsPerSecond = (connections: number): number =>
  connections > atOnce ? sustained : Number.MAX_SAFE_INTEGER
