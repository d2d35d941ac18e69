import { numbers } from './numbers.ts'
import { dial, type Peer } from './peer.ts'

interface Rival {
  peer: Peer
  epoch: number
}

/** A millisecond is met after a few attempts; a machine that is busy takes more. */
const mostAttempts = 1_000

/**
 * Connects one device at all of these gateways, again until all have admitted it in the same millisecond; epochs count microseconds.
 * Resolves with the connections, which beat. Rejects when that does not come about.
 */
export async function admittedTogether(urls: readonly string[], token: string): Promise<Peer[]> {
  for (let attempt = 1; attempt <= mostAttempts; attempt++) {
    const rivals = await Promise.all(urls.map((url) => connected(url, token)))
    if (new Set(rivals.map(({ epoch }) => Math.floor(epoch / 1000))).size === 1)
      return rivals.map(({ peer }) => peer)
    for (const { peer } of rivals) peer.drop()
  }
  throw new Error(`not admitted in the same millisecond in ${mostAttempts} attempts`)
}

async function connected(url: string, token: string): Promise<Rival> {
  const peer = await dial(url, token)
  if (typeof peer === 'number') throw new Error(`turned away with ${peer}`)
  const answer = await peer.greet()
  if (!answer?.welcome) throw new Error('not admitted')
  peer.beat(numbers.heartbeatMs / 2)
  return { peer, epoch: answer.welcome.epoch ?? 0 }
}
