import { watchLoop } from '../method/latency.ts'
import { serveCalls } from './serve.ts'
import type { Identity } from './connection.ts'
import { Crowd, type CrowdOptions } from './crowd.ts'

/** The load client's process: crowds by number. */
const crowds = new Map<number, Crowd>()
let crowdsMade = 0

const crowd = (number: number): Crowd => {
  const found = crowds.get(number)
  if (!found) throw new Error(`there is no crowd ${number}`)
  return found
}

serveCalls({
  make: (options: CrowdOptions) => {
    crowds.set(++crowdsMade, new Crowd(options))
    return crowdsMade
  },
  connect: ({ number, identities }: { number: number; identities: Identity[] }) =>
    crowd(number).connect(identities),
  beat: async ({
    number,
    ...beats
  }: {
    number: number
    perSecond: number
    count: number
    answered: boolean
  }) => {
    const loop = watchLoop()
    const { seconds, latencies } = await crowd(number).beat(beats)
    return { seconds, latencies, loop: loop() }
  },
  publish: ({ number, ...message }: { number: number; topic: string; count: number; bytes: number }) =>
    crowd(number).publish(message),
  expect: ({ number }: { number: number }) => crowd(number).expect(),
  arrived: ({ number, count }: { number: number; count: number }) => crowd(number).arrived(count),
  close: async ({ number }: { number: number }) => {
    await crowd(number).close()
    crowds.delete(number)
  },
})
