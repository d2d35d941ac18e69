/** Set where a release is built (tools/release), and in its place stands the version then. */
const released = process.env['SVC_AGENT_VERSION']

/** Equal to the package's (version.test.ts). */
const packaged = '0.1.0'

/** What this agent reports as its version. */
export const agentVersion = released ?? packaged

/** This is one file that a release made: it can be copied, started, and replaced. */
export const isRelease = released !== undefined
