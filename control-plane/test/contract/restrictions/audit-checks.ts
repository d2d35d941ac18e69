import { apart, ask, type Check, leaks, type Row, type Subject, walk } from './ask.ts'
import { seenDevices } from './seen.ts'

interface Entry extends Row {
  seen: boolean
  actorType: string
  action: string
  words: string
}

/** Rows of the organization, and which of them are about a device that the member sees: those alone are shown. */
async function entriesOf({ stage, limited }: Subject): Promise<Entry[]> {
  const devices = (await seenDevices(stage, limited)).map(({ id }) => id)
  return stage.world.owner<Entry[]>`
    select a.id, a.resource_id = any (${devices}::uuid[]) is true as seen, a.actor_type, a.action,
      concat_ws(' ', a.action, a.resource_name) as words
    from svc.audit_log a where a.org_id = ${stage.world.places.own.orgId} and a.at < '2026-02-01'`
}

const due = async (subject: Subject) => (await entriesOf(subject)).filter(({ seen }) => seen)

export const entryList: Check = async function* (subject) {
  const { rows, replies } = await walk(subject)
  const all = await due(subject)
  const said = subject.name.endsWith('/search') ? all.filter(({ words }) => words.includes('entry')) : all
  yield* apart(subject, '', rows, said)
  if (subject.name.endsWith('/search')) return
  const one = await walk(subject, { query: { action: 'device.command.send', limit: '3' } })
  yield* apart(
    subject,
    ' of one action',
    one.rows,
    all.filter(({ action }) => action === 'device.command.send'),
  )
  yield* await leaks(subject, [...replies, ...one.replies])
}

export const oneEntry: Check = async function* (subject) {
  for (const { id, seen } of await entriesOf(subject)) {
    const { status } = await ask(subject, { swap: { auditEntry: id } })
    if (status !== (seen ? 200 : 404))
      yield `${subject.name}, ${subject.limited.name}: ${status} of a row that is ${seen ? 'seen' : 'not seen'}`
  }
}

/** Totals, each of the part of the log that it counts. */
export const figures: Check = async function* (subject) {
  const { name, limited } = subject
  const reply = await ask(subject)
  const all = await due(subject)
  const users = all.filter(({ actorType }) => actorType === 'user').length
  const counted: Record<string, number> = {
    'GET /audit/stats': all.length,
    'GET /audit/reports/user-activity': users,
    'GET /audit/reports/security-events': all.filter(({ action }) => action === 'user.update').length,
    'GET /audit/reports/compliance': all.length,
  }
  const total = reply.json?.totalEvents
  if (total !== counted[name]) yield `${name}, ${limited.name}: counts ${total}, not ${counted[name]}`
  yield* await leaks(subject, [reply])
}

/** A process makes few at once: members ask in turn. */
let last = Promise.resolve()
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const mine = last.then(work)
  last = mine.then(() => undefined)
  return mine
}

export const exported: Check = async function* (subject) {
  const format = subject.name.startsWith('GET') ? { query: { format: 'json' } } : {}
  const reply = await inTurn(() => ask(subject, format))
  yield* apart(subject, '', reply.json?.data ?? [], await due(subject))
  yield* await leaks(subject, [reply])
}
