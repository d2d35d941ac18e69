import type { CloseReason } from '@svc/proto'
import type { Crowd, Seen } from '../../system/harness/crowd.ts'
import { isAdmitted } from '../../system/harness/peer.ts'

const isEnd = ({ kind }: Seen) => kind === 'stopped' || kind === 'disconnected'

/** What became of connections since something was revoked. */
export interface Ends {
  /** how long each lasted; infinite: it goes on */
  spansMs: number[]
  /** those that ended for another reason than they had to, and those that came back */
  faults: string[]
}

/** When it was asked for, and when it was answered; ms since 1970. */
export interface Act {
  began: number
  acted: number
}

export function endsOf(crowd: Crowd, ids: readonly string[], act: Act, reason: CloseReason): Ends {
  const ends: Ends = { spansMs: [], faults: [] }
  for (const id of ids) {
    const number = crowd.number(id)
    const seen = crowd.events.filter((event) => event.number === number && event.at >= act.began)
    const end = seen.find(isEnd)
    ends.spansMs.push(end ? Math.max(0, end.at - act.acted) : Number.POSITIVE_INFINITY)
    if (end && 'reason' in end && end.reason !== reason) ends.faults.push(`${id} was told ${end.reason}`)
    if (end && seen.slice(seen.indexOf(end)).some(({ kind }) => kind === 'connected'))
      ends.faults.push(`${id} was let in again`)
  }
  return ends
}

export const areCut = (crowd: Crowd, ids: readonly string[], act: Act): boolean =>
  endsOf(crowd, ids, act, 'DECOMMISSIONED').spansMs.every(Number.isFinite)

/** Of the crowd's devices, those whose token is good at one of these gateways. */
export async function letIn(
  urls: readonly string[],
  crowd: Crowd,
  ids: readonly string[],
): Promise<string[]> {
  const asked = ids.flatMap((id) =>
    urls.map(async (url) => ((await isAdmitted(url, await crowd.token(id))) ? [`${id} at ${url}`] : [])),
  )
  return (await Promise.all(asked)).flat()
}

/** Connections of a crowd that ended since then, whatever the reason. */
export const lost = (crowd: Crowd, since: number): string[] =>
  crowd.events
    .filter((event) => event.at >= since && isEnd(event))
    .map((event) => `${crowd.ids[event.number - 1] ?? ''}: ${'reason' in event ? event.reason : ''}`)
