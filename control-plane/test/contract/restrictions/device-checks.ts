import { type Reply, table } from '../world/calls.ts'
import { apart, ask, type Check, leaks, walk } from './ask.ts'
import { type SeenDevice, seenDevices, seenGroups, stateOf } from './seen.ts'

const named = (id: string, command: string) => ({ device: id, quarantinedDevice: id, command })
const unknown = () => named(crypto.randomUUID(), crypto.randomUUID())

/** Says of the device that it is not in the state for that, and so that it is there. */
const isOutOfState = (name: string, lifecycle: string) =>
  lifecycle !== 'active' || name === 'POST /devices/:id/release'

/** A route that names a device, or one of its commands: 404 as for one that there is not, and nothing happens to it. */
export const oneDevice: Check = async function* (subject) {
  const { stage, limited, name } = subject
  const writes = table.find((entry) => entry.name === name)?.route.writes
  const absent = await ask(subject, { swap: unknown() })
  const targets = writes ? await stage.alike() : stage.machines
  const seen = new Set((await seenDevices(stage, limited)).map(({ id }) => id))
  const replies: Reply[] = []
  for (const target of targets) {
    const isSeen = seen.has(target.id)
    const before = isSeen ? '' : await stateOf(stage, target.id)
    const reply = await ask(subject, { swap: named(target.id, target.commandId) })
    const isAnswer = reply.status < 300 || (reply.status === 409 && isOutOfState(name, target.lifecycle))
    const isAbsent = reply.status === 404 && reply.text === absent.text
    if (isSeen ? !isAnswer : !isAbsent)
      yield `${name}, ${limited.name}: ${reply.status} of a device that is ${isSeen ? 'seen' : 'not seen'}`
    if (!isSeen && (await stateOf(stage, target.id)) !== before) yield `${name}, ${limited.name}: changes it`
    replies.push(reply)
  }
  yield* await leaks(subject, replies)
}

/** The queries of the device list, and what of the seen devices each leaves. */
type Asked = [query: Record<string, string>, keep: (device: SeenDevice) => boolean]

function questions(stage: Parameters<typeof seenDevices>[0], groups: ReadonlySet<string>): Asked[] {
  const living = ({ retired }: SeenDevice) => !retired
  const inGroup = (id: string) => (device: SeenDevice) =>
    living(device) && groups.has(id) && device.groups.includes(id)
  return [
    [{}, living],
    [{ includeDecommissioned: 'true' }, () => true],
    [{ osType: 'linux', status: 'offline' }, (device) => living(device) && !device.quarantined],
    ...stage.sites.map(
      ({ siteId }): Asked => [{ siteIds: siteId }, (device) => living(device) && device.siteId === siteId],
    ),
    ...stage.groups.map((id): Asked => [{ groupIds: id }, inGroup(id)]),
    ...stage.machines.map(
      ({ hostname }): Asked => [
        { search: hostname },
        (device) => living(device) && device.hostname === hostname,
      ],
    ),
  ]
}

/** Rows and counts, in either mode and every order, whatever is asked for. */
export const deviceList: Check = async function* (subject) {
  const { stage, limited, name } = subject
  const seen = await seenDevices(stage, limited)
  const groups = new Set((await seenGroups(stage, limited)).map(({ id }) => id))
  const replies: Reply[] = []
  for (const [query, keep] of questions(stage, groups)) {
    const due = seen.filter(keep)
    const what = ` ${JSON.stringify(query)}`
    const found = await walk(subject, { query: { ...query, includeTotal: 'true' } })
    const paged = await ask(subject, { query: { ...query, page: '1', limit: '100' } })
    yield* apart(subject, what, found.rows, due)
    const names = paged.json.devices.map(({ hostname }: SeenDevice) => hostname)
    const first = due.map(({ hostname }) => hostname).toSorted()
    if (names.join() !== first.slice(0, 100).join())
      yield `${name}${what}, ${limited.name}: another first page`
    for (const { total } of [found.replies[0]?.json, paged.json])
      if (total !== due.length) yield `${name}${what}, ${limited.name}: counts ${total}, not ${due.length}`
    replies.push(...found.replies, paged)
  }
  yield* await leaks(subject, replies)
  for (const sort of ['hostname', 'lastSeen', 'enrolled']) {
    for (const sortDir of ['asc', 'desc']) {
      const { rows } = await walk(subject, { query: { sort, sortDir, limit: '7' } })
      const due = seen.filter(({ retired }) => !retired)
      yield* apart(subject, ` by ${sort} ${sortDir}`, rows, due)
    }
  }
}

/** What a key shows that the member made, or took over from somebody without limits. */
export const madeKey: Check = async function* (subject) {
  const { stage, limited, name, app } = subject
  const { make, places } = stage.world
  const scopes = ['devices:read' as const]
  const apiKey = (await make.apiKey(places.own, { scopes })).id
  const body = name.startsWith('POST /api-keys/') ? {} : { body: { name: 'Reader', scopes } }
  const made = await ask(subject, { swap: { apiKey }, ...body })
  const headers = { 'x-api-key': String(made.json.key) }
  const listed = { stage, limited, name: 'GET /devices', app }
  const { rows } = await walk(listed, { caller: {}, headers, query: { includeDecommissioned: 'true' } })
  yield* apart({ ...listed, name }, ' and its key', rows, await seenDevices(stage, limited))
}
