import { hostileFrames } from '../hostile/storm.ts'
import type { Fault } from './fault.ts'

/** Per transport; a million of them is what `npm run proof -- hostile` takes. */
const framesPerSecond = 250

/** Devices say what no agent would, on each transport at once; each time it is their own connection that ends. */
export const hostileFramesFault: Fault = {
  id: 'F31',
  fault: 'malformed and hostile frames',
  expected: 'their own connection ends, with a reason; same process, memory and neighbours',
  plant: {
    guard: 'the end of connections that say what does not decode',
    variables: { SVC_TEST_WITHOUT: 'malformed_close' },
    noticed: /went otherwise than the documents say/,
  },
  run: async ({ system, api, props, random }) => {
    const frames = Math.max(2_500, framesPerSecond * props.seconds)
    const seed = Math.floor(random() * 2 ** 31)
    const { rows } = await hostileFrames({ frames, seed, system, api, say: props.say })
    return rows
  },
}
