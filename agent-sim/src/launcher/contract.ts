/**
 * What the launcher and the agent that it starts mean to each other. The launcher stays as it was installed while agents come and go:
 * what stands here, and in the journal, never changes its meaning.
 */
export const exits = {
  /** another file is in the agent's place: start that */
  replaced: 75,
  /** the server wants no more of this device: starting the agent again changes nothing */
  unwanted: 77,
} as const

/** In the environment of an agent that a launcher started: the launcher's version. */
export const launcherVariable = 'SVC_AGENT_LAUNCHER'
