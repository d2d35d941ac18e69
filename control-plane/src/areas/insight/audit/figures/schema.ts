import { z } from 'zod'
import { auditCategories } from '../../../../kernel/audit-actions.ts'
import { Id } from '../../../../kernel/id.ts'
import { AuditEntry, AuditResult, from, to } from '../entries/schema.ts'

/** Without `from`, figures are of so many days; no more than these at all, as each row of them is read. */
export const days = { default: 30, most: 366 } as const

export const FiguresQuery = z.object({
  from: from.optional().describe(`From this moment on; ${days.default} days before \`to\` when left out`),
  to: to
    .optional()
    .describe(`Before this moment; now when left out. At most ${days.most} days after \`from\``),
  orgId: Id.optional().describe('One organization’s'),
})
export type FiguresQuery = z.output<typeof FiguresQuery>

const Range = z.object({ from: z.date(), to: z.date() })
const count = z.int()

const ByAction = z.array(z.object({ action: z.string(), category: z.enum(auditCategories), count }))

export const UserActivity = z.object({
  userId: z.uuid(),
  userEmail: z.string().nullable().describe('As it was in the newest row'),
  actionCount: count,
  lastActiveAt: z.date(),
})
export type UserActivity = z.output<typeof UserActivity>

export const AuditStats = z
  .object({
    range: Range,
    totalEvents: count,
    byCategory: z.array(z.object({ category: z.enum(auditCategories), count })),
    byAction: ByAction,
    byResult: z.array(z.object({ result: AuditResult, count })),
    byUser: z.array(UserActivity).describe('The ten with the most events'),
    byDay: z.array(z.object({ day: z.string().describe('UTC'), count })).describe('Days with events'),
  })
  .meta({ id: 'AuditStats', description: 'What there is in the audit log, counted.' })

export const UserActivityReport = z
  .object({
    range: Range,
    totalUsers: count,
    totalEvents: count.describe('Of users'),
    actionsPerUser: z.array(UserActivity).describe('The hundred with the most events'),
    topUsers: z.array(UserActivity).describe('The first five of them'),
    recentActivity: z.array(AuditEntry).describe('The ten newest events of users'),
  })
  .meta({ id: 'UserActivityReport', description: 'What users did.' })

export const SecurityEventsReport = z
  .object({
    range: Range,
    totalEvents: count.describe('Of the categories `authentication` and `access`'),
    loginAttempts: count,
    failedLogins: count,
    permissionChanges: count.describe('Successful actions of the category `access`'),
    deniedRequests: count,
    byAction: ByAction,
    recentEvents: z.array(AuditEntry).describe('The ten newest'),
  })
  .meta({ id: 'SecurityEventsReport', description: 'Who came in, and who changed who may.' })

export const ComplianceReport = z
  .object({
    range: Range,
    totalEvents: count.describe('Of the three kinds'),
    dataAccess: count.describe('Actions of the category `data`: what left the system'),
    dataChanges: count.describe('Successful actions of the categories `access`, `organization` and `device`'),
    exports: count,
    byAction: ByAction,
    recentEvents: z.array(AuditEntry).describe('The ten newest'),
  })
  .meta({ id: 'ComplianceReport', description: 'Which data were changed, and which left the system.' })
