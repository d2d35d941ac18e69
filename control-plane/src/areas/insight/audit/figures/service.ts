import type { Ctx } from '../../../../kernel/context.ts'
import { aboutAction, actionsOf, auditCategories } from '../../../../kernel/audit-actions.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { entryOf } from '../entries/entry.ts'
import { findPage } from '../entries/service.ts'
import { requireOrganization } from '../place/service.ts'
import { type ActionCount, countActions, countDays, countUsers, type Span } from './queries.ts'
import { days, type FiguresQuery } from './schema.ts'

type Asked = Pick<Ctx<object, FiguresQuery>, 'db' | 'query' | 'ports'>
const dayMs = 86_400_000
const newestShown = 10

/** @throws ApiError VALIDATION_ERROR for a span that is empty or too long; 404 for an organization that is not seen */
async function spanOf({ db, query: { from, to, orgId }, ports }: Asked): Promise<Span> {
  const end = to ?? ports.clock.now()
  const begin = from ?? new Date(end.getTime() - days.default * dayMs)
  const refuse = (message: string) =>
    new ApiError('VALIDATION_ERROR', 'the span is not valid', {
      details: [{ in: 'query', field: 'from', message }],
    })
  if (begin >= end) throw refuse('must be before to')
  if (end.getTime() - begin.getTime() > days.most * dayMs)
    throw refuse(`must be at most ${days.most} days before to`)
  await requireOrganization(db, orgId)
  return { from: begin, to: end, orgId }
}

const rangeOf = ({ from, to }: Span) => ({ from, to })
const sum = (rows: readonly ActionCount[], of: (row: ActionCount) => boolean = () => true) =>
  rows.reduce((total, row) => (of(row) ? total + row.count : total), 0)

/** Counts of several rows with the same key, in the order in which the keys come first. */
function by<K extends string>(rows: readonly ActionCount[], keyOf: (row: ActionCount) => K): [K, number][] {
  const counts = new Map<K, number>()
  for (const row of rows) counts.set(keyOf(row), (counts.get(keyOf(row)) ?? 0) + row.count)
  return [...counts]
}

const byAction = (rows: readonly ActionCount[]) =>
  by(rows, ({ action }) => action)
    .map(([action, count]) => ({ action, category: aboutAction(action)[0], count }))
    .toSorted((a, b) => b.count - a.count)

const categoryOf = ({ action }: ActionCount) => aboutAction(action)[0]
const isLogin = ({ action }: ActionCount) => action === 'user.login'
const succeeded = ({ result }: ActionCount) => result === 'success'

/** The newest rows of these actions: as the log shows them. */
async function recent(db: Asked['db'], span: Span, action: string[]) {
  const { rows } = await findPage(db, { ...span, action }, newestShown)
  return rows.map(entryOf)
}

export async function stats(asked: Asked) {
  const span = await spanOf(asked)
  const { db } = asked
  const rows = await countActions(db, span)
  const categories = new Map(by(rows, categoryOf))
  return {
    range: rangeOf(span),
    totalEvents: sum(rows),
    byCategory: auditCategories.map((category) => ({ category, count: categories.get(category) ?? 0 })),
    byAction: byAction(rows),
    byResult: (['success', 'failure', 'denied'] as const).map((result) => ({
      result,
      count: sum(rows, (row) => row.result === result),
    })),
    byUser: await countUsers(db, span, 10),
    byDay: await countDays(db, span),
  }
}

export async function userActivity(asked: Asked) {
  const span = await spanOf(asked)
  const users = await countUsers(asked.db, span, 100)
  const { rows } = await findPage(asked.db, { ...span, actorType: 'user' }, newestShown)
  return {
    range: rangeOf(span),
    totalUsers: users[0]?.users ?? 0,
    totalEvents: users[0]?.events ?? 0,
    actionsPerUser: users,
    topUsers: users.slice(0, 5),
    recentActivity: rows.map(entryOf),
  }
}

export async function securityEvents(asked: Asked) {
  const span = await spanOf(asked)
  const actions = actionsOf('authentication', 'access')
  const rows = await countActions(asked.db, span, actions)
  return {
    range: rangeOf(span),
    totalEvents: sum(rows),
    loginAttempts: sum(rows, isLogin),
    failedLogins: sum(rows, (row) => isLogin(row) && !succeeded(row)),
    permissionChanges: sum(rows, (row) => categoryOf(row) === 'access' && succeeded(row)),
    deniedRequests: sum(rows, ({ result }) => result === 'denied'),
    byAction: byAction(rows),
    recentEvents: await recent(asked.db, span, actions),
  }
}

export async function compliance(asked: Asked) {
  const span = await spanOf(asked)
  const actions = actionsOf('data', 'access', 'organization', 'device')
  const rows = await countActions(asked.db, span, actions)
  const isData = (row: ActionCount) => categoryOf(row) === 'data'
  return {
    range: rangeOf(span),
    totalEvents: sum(rows, (row) => isData(row) || succeeded(row)),
    dataAccess: sum(rows, isData),
    dataChanges: sum(rows, (row) => !isData(row) && succeeded(row)),
    exports: sum(rows, ({ action }) => action.endsWith('.export')),
    byAction: byAction(rows),
    recentEvents: await recent(asked.db, span, actions),
  }
}
