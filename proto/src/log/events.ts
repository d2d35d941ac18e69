/**
 * What is logged whatever LOG_LEVEL says, and lost by no limit on repeated lines. A closed list: the schema of a line
 * (docs/log-line.schema.json) names them, and nothing else can be spelt.
 *
 * `each`: every one is a line. `gathered`: anybody can cause as many as they like before it is known who they are, so the first of a
 * window are lines, and the rest one line with their number; the counter has them all.
 */
export const securityEvents = {
  'login.refused': 'each',
  'second_factor.refused': 'each',
  'password.refused': 'each',
  'enrollment.refused': 'each',
  'refresh_token.reused': 'each',
  'authorization.denied': 'each',
  'access.changed': 'each',
  'database.restored': 'each',
  'device.revoked': 'each',
  'device.quarantined': 'each',
  'egress.denied': 'gathered',
  'credential.refused': 'gathered',
  'device.refused': 'gathered',
  'gateway.refused': 'gathered',
  'command.disowned': 'gathered',
} as const satisfies Record<string, 'each' | 'gathered'>

export type SecurityEvent = keyof typeof securityEvents

/** Events of other lines that programs look for. Lines without one are for people. */
export const plainEvents = [
  'process.up',
  'process.failed',
  'process.warning',
  'process.blocked',
  'console',
  'log.repeated',
  'log.lost',
  'message.shown',
  'http.request',
  'http.failed',
  'command.offered',
  'command.frame',
  'command.reported',
  'command.finished',
  'audit.sealed',
] as const

export type PlainEvent = (typeof plainEvents)[number]

/** Which program a line is of. */
export const services = ['control-plane', 'gateway', 'supervisor', 'agents', 'database', 'tool'] as const
export type Service = (typeof services)[number]
