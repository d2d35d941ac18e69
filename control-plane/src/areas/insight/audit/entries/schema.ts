import { z } from 'zod'
import { isStorable } from '../../../../db/array-literal.ts'
import { auditCategories } from '../../../../kernel/audit-actions.ts'
import { Id } from '../../../../kernel/id.ts'
import { Moment } from '../../../../kernel/moment.ts'
import { PageQuery } from '../../../../kernel/page.ts'
import { csv } from '../../../../kernel/query-text.ts'
import { label, unstorableText } from '../../../../kernel/text.ts'

export const AuditResult = z.enum(['success', 'failure', 'denied'])
const result = AuditResult.describe('What became of it: success, failure or denied')
const ActorType = z.enum(['user', 'api_key', 'device', 'system', 'anonymous'])

/** One row of the log. Who and what have the names that they had then. */
export const AuditEntry = z
  .object({
    id: z.uuid(),
    orgId: z.uuid().nullable().describe('Null: of the partner itself'),
    timestamp: z.date(),
    actor: z.object({
      type: ActorType,
      id: z.uuid().nullable(),
      email: z.string().nullable(),
      onBehalfOf: z.uuid().nullable().describe('Of an API key: the user with whose rights it acted'),
    }),
    action: z.string(),
    resource: z.object({
      type: z.string().nullable(),
      id: z.uuid().nullable(),
      name: z.string().nullable(),
    }),
    category: z.enum(auditCategories),
    severity: z
      .enum(['info', 'notice', 'warning', 'critical'])
      .describe('Of the action; whatever did not succeed is at least a warning'),
    result: AuditResult,
    ipAddress: z.string().nullable(),
    userAgent: z.string().nullable(),
    requestId: z.string().nullable(),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'AuditEntry', description: 'One row of the audit log.' })
export type AuditEntry = z.output<typeof AuditEntry>

/** What of {@link AuditEntry} a row of SQL has. */
export interface AuditRow {
  id: string
  orgId: string | null
  at: Date
  actorType: z.output<typeof ActorType>
  actorId: string | null
  actorEmail: string | null
  onBehalfOf: string | null
  action: string
  resourceType: string | null
  resourceId: string | null
  resourceName: string | null
  result: z.output<typeof AuditResult>
  ip: string | null
  userAgent: string | null
  requestId: string | null
  details: Record<string, unknown>
}

const action = z.string().regex(/^[a-z0-9_.]{1,100}$/, 'must be an action, as in `user.login`')
const maxActions = 50
/** Between characters of ASCII that are neither letter nor digit. */
const hasWord = (text: string) => /[^\0-/:-@[-`{-\x7f]/.test(text)

export const actor = label(255).describe('Who acted: an id, or an e-mail address in full')
export const resource = label(255).describe(
  'What was acted upon: an id, a type as `device`, or a name in full',
)
export const q = z
  .string()
  .trim()
  .min(1)
  .max(255)
  .refine(isStorable, unstorableText)
  .refine(hasWord, 'must hold a letter or digit')
  .describe(
    'Words that the row has in action, type and name of the resource, e-mail of the actor, or texts of the details; with a star the beginning of a word will do, from three characters on: `front*`',
  )
const moment = Moment.transform((text) => new Date(text))
export const from = moment.describe('From this moment on')
export const to = moment.describe('Before this moment')

/** What restricts lists, searches and exports. Absent: everything. */
export interface Filter {
  /** of reports; no query says it */
  actorType?: z.output<typeof ActorType> | undefined
  actor?: string | undefined
  action?: readonly string[] | undefined
  excludeActions?: readonly string[] | undefined
  resource?: string | undefined
  result?: z.output<typeof AuditResult> | undefined
  orgId?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
  q?: string | undefined
}

/** The filters as they stand in a query. */
export const FilterQuery = {
  actor: actor.optional(),
  action: csv(action, maxActions).optional().describe('Actions, comma-separated'),
  excludeActions: csv(action, maxActions).optional().describe('Actions to leave out, comma-separated'),
  resource: resource.optional(),
  result: result.optional(),
  orgId: Id.optional().describe('One organization’s; one that you may not see has nothing'),
  from: from.optional(),
  to: to.optional(),
  q: q.optional(),
}

/** The same in a body. */
export const FilterBody = z
  .strictObject({
    actor: actor.optional(),
    action: z.array(action).min(1).max(maxActions).optional().describe('Any of these actions'),
    excludeActions: z.array(action).min(1).max(maxActions).optional().describe('Actions to leave out'),
    resource: resource.optional(),
    result: result.optional(),
    orgId: Id.optional().describe('One organization’s; one that you may not see has nothing'),
    q: q.optional(),
  })
  .describe('As the query keys of `GET /audit/logs`')

export const EntryQuery = z.object({ ...FilterQuery, ...PageQuery })
export type EntryQuery = z.output<typeof EntryQuery>
export const SearchQuery = z.object({ ...FilterQuery, ...PageQuery, q })
