import type { SecurityEvent, SecurityLog } from '@svc/proto/log'
import { inLog } from '@svc/proto/trace'
import type { Actor, AuditSubject, Client, Refusal } from './context.ts'

/** What a refusal in the audit log is among security events, by what its action begins with; the first that fits. */
const refusals: readonly [action: string, event: SecurityEvent][] = [
  ['user.login', 'login.refused'],
  ['sso.', 'login.refused'],
  ['auth.mfa.', 'second_factor.refused'],
  ['auth.phone.', 'second_factor.refused'],
  ['auth.refresh.', 'refresh_token.reused'],
  ['user.password.', 'password.refused'],
  ['device.enroll', 'enrollment.refused'],
  ['egress.', 'egress.denied'],
  ['', 'authorization.denied'],
]

/** Writes after which somebody can do more, or less, than before: by what their action begins with. */
const changesOfAccess = [
  'access_review.complete',
  'api_key.',
  'auth.mfa.',
  'auth.phone.confirmed',
  'device.decommission',
  'device.quarantine',
  'enrollment_key.',
  'organization.delete',
  'partner.delete',
  'role.',
  'sso.',
  'user.password.',
  'user.platform_admin.',
  'user.remove',
  'user.role.',
  'user.update',
]

const who = (actor: Actor) => ('id' in actor ? { actorId: actor.id } : {})
const where = ({ partnerId, orgId, type, id }: AuditSubject) => ({
  partnerId,
  orgId,
  resource: type,
  resourceId: id,
})

/** Tells of refusals that have a row in the audit log, of which these lines are the echo. */
export function tellRefusals(
  security: SecurityLog,
  refused: readonly (Refusal & { actor: Actor })[],
  client: Client,
): void {
  for (const { action, result, actor, details, ...subject } of refused) {
    const [, event] = refusals.find(([begins]) => action.startsWith(begins)) ?? ['', 'authorization.denied']
    const said = { action, result, ip: client.ip, reason: details?.['reason'] ?? details?.['code'] }
    security(event as SecurityEvent, 'refused', {
      ...inLog(client.trace),
      ...who(actor),
      ...where(subject),
      ...said,
    })
  }
}

/** Tells of a write that changed what somebody may do, once it is committed. */
export function tellChange(
  security: SecurityLog,
  { action, actor, subject, client }: { action: string; actor: Actor; subject: AuditSubject; client: Client },
): void {
  if (!changesOfAccess.some((begins) => action.startsWith(begins))) return
  const said = { action, ip: client.ip }
  security('access.changed', 'access has changed', {
    ...inLog(client.trace),
    ...who(actor),
    ...where(subject),
    ...said,
  })
}
