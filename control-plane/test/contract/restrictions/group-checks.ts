import { apart, ask, type Check, leaks, type Row, type Subject, walk } from './ask.ts'
import { type SeenDevice, seenChanges, seenDevices, seenGroups, seenKeys, seenSites } from './seen.ts'

/** Of devices that are seen those in the group; in service, unless said otherwise. */
const within = (seen: readonly SeenDevice[], groupId: string, retiredToo = false) =>
  seen.filter(({ groups, retired }) => groups.includes(groupId) && (retiredToo || !retired))

async function* miscounted(subject: Subject, rows: readonly Row[]) {
  const seen = await seenDevices(subject.stage, subject.limited)
  for (const { id, deviceCount } of rows) {
    const due = within(seen, id).length
    if (deviceCount !== due)
      yield `${subject.name}, ${subject.limited.name}: counts ${deviceCount} devices, not ${due}`
  }
}

export const groupList: Check = async function* (subject) {
  const { rows, replies } = await walk(subject)
  yield* apart(subject, '', rows, await seenGroups(subject.stage, subject.limited))
  yield* miscounted(subject, rows)
  yield* await leaks(subject, replies)
}

/** Yields unless a group is answered where it is seen, and is as absent where it is not. @returns whether there is more to compare */
async function* present({ stage, limited, name }: Subject, groupId: string, status: number | undefined) {
  const isSeen = (await seenGroups(stage, limited)).some(({ id }) => id === groupId)
  if (status !== (isSeen ? 200 : 404))
    yield `${name}, ${limited.name}: ${status} of a group that is ${isSeen ? 'seen' : 'not seen'}`
  return isSeen && status === 200
}

export const oneGroup: Check = async function* (subject) {
  for (const deviceGroup of subject.stage.groups) {
    const reply = await ask(subject, { swap: { deviceGroup } })
    if (yield* present(subject, deviceGroup, reply.status)) yield* miscounted(subject, [reply.json as Row])
    yield* await leaks(subject, [reply])
  }
}

export const memberList: Check = async function* (subject) {
  const seen = await seenDevices(subject.stage, subject.limited)
  for (const deviceGroup of subject.stage.groups) {
    for (const includeDecommissioned of [false, true]) {
      const query = { includeDecommissioned: String(includeDecommissioned) }
      const { rows, replies, status } = await walk(subject, { swap: { deviceGroup }, query })
      if (yield* present(subject, deviceGroup, status))
        yield* apart(subject, '', rows, within(seen, deviceGroup, includeDecommissioned))
      yield* await leaks(subject, replies)
    }
  }
}

export const changeList: Check = async function* (subject) {
  const { stage, limited } = subject
  for (const deviceGroup of stage.groups) {
    const { rows, replies, status } = await walk(subject, { swap: { deviceGroup } })
    if (yield* present(subject, deviceGroup, status))
      yield* apart(subject, '', rows, await seenChanges(stage, limited, deviceGroup))
    yield* await leaks(subject, replies)
  }
}

/** What decides on what others see, or on what one sees oneself, is not for who is limited. */
export const refused: Check = async function* (subject) {
  const { limited, name } = subject
  const reply = await ask(subject)
  if (reply.status !== 403 || reply.json.error.code !== 'FULL_ACCESS_REQUIRED')
    yield `${name}, ${limited.name}: ${reply.status}`
}

export const siteList: Check = async function* (subject) {
  const { rows } = await walk(subject)
  yield* apart(subject, '', rows, await seenSites(subject.stage, subject.limited))
}

export const keyList: Check = async function* (subject) {
  const { rows } = await walk(subject)
  yield* apart(subject, '', rows, await seenKeys(subject.stage, subject.limited))
}

/** A route that names a site, or an enrollment key of one. */
export const atSite: Check = async function* (subject) {
  const { stage, limited, name } = subject
  for (const at of stage.sites) {
    const enrollmentKey = (await stage.world.make.enrollmentKey(at)).id
    const reply = await ask(subject, { swap: { site: at.siteId, enrollmentKey } })
    const isSeen = (await seenSites(stage, limited)).some(({ id }) => id === at.siteId)
    if (isSeen ? reply.status >= 300 : reply.status !== 404)
      yield `${name}, ${limited.name}: ${reply.status} at a site that is ${isSeen ? 'seen' : 'not seen'}`
  }
}
