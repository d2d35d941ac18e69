import { actorId, formerActor, organizationId, quietOrganization, rareAction } from './fill.ts'

/** What is asked, by what makes it dear. Each answers with a page; `few`: what there is, is in one. */
export const questions = {
  newest: [''],
  large: ['limit=500'],
  filtered: [
    'action=user.login',
    `actor=${actorId(7)}`,
    'result=failure',
    `actor=${actorId(7)}&action=user.login`,
    `orgId=${organizationId(3)}`,
    `orgId=${organizationId(3)}&action=role.update`,
    'excludeActions=device.command.send',
    'from=2020-01-01T00:00:00Z&action=user.login,role.update',
  ],
  few: [
    `action=${rareAction}`,
    `orgId=${quietOrganization}`,
    `actor=${formerActor}`,
    `actor=${formerActor}&action=${rareAction}`,
    'action=device.enroll&result=denied',
    'result=denied',
    `actor=${organizationId(1)}`,
    'actor=nobody@msp.example',
    'resource=host-12345',
    `resource=${organizationId(1)}`,
  ],
  search: [
    'q=host 12345',
    'q=heirloom',
    'q=nowhere',
    'q=login',
    'q=routine user7@msp.example',
    'q=dev*',
    'q=host*',
    'q=host-123*',
    'q=role update failure',
    `q=inventory&actor=${formerActor}`,
  ],
} as const

export type Group = keyof typeof questions
export const groups = Object.keys(questions) as Group[]

export const pathOf = (group: Group, question: string): string =>
  `/api/v1/audit/${group === 'search' ? 'search' : 'logs'}?${question.replaceAll(' ', '%20')}`

export const figurePaths = ['stats', 'reports/user-activity', 'reports/security-events', 'reports/compliance']

/** The statement of the newest page without scope: one row more than it shows, as the product reads it. */
export const newestStatement = (partnerId: string): string => `
select a.id, a.org_id, a.at, a.actor_type, a.actor_id, a.actor_email, a.on_behalf_of, a.action, a.resource_type, a.resource_id,
  a.resource_name, a.result, host(a.ip) as ip, a.user_agent, a.request_id, a.details
from audit_log a where a.partner_id = '${partnerId}' order by a.at desc, a.id desc limit 101`
