import { expect, it } from 'vitest'
import { type TransportKind, transportKinds } from '../transport/kinds.ts'
import { kindFor, parseMix } from './mix.ts'

const count = (text: string, agents: number, seed?: number) => {
  const mix = parseMix(text)
  const kinds = Array.from({ length: agents }, (_, at) => kindFor(mix, at + 1, seed))
  return Object.fromEntries(transportKinds.map((kind) => [kind, kinds.filter((one) => one === kind).length]))
}

it('one name is for all, weights are shares', () => {
  for (const kind of transportKinds) expect(count(kind, 50)).toMatchObject({ [kind]: 50 })
  expect(parseMix('mix')).toEqual(parseMix('websocket=70,mqtt=20,mqtt-ws=10'))
  expect(parseMix(' mqtt=1 , mqtt-ws=0.5')).toEqual({ mqtt: 1, 'mqtt-ws': 0.5 })
  expect(count('websocket=0,mqtt=3', 20)).toMatchObject({ websocket: 0, mqtt: 20 })
})

it('shares hold for few and for many, wherever one begins to count', () => {
  for (const seed of [0, 1, 7, 1_000])
    for (const agents of [10, 100, 5_000]) {
      const counts = count('mix', agents, seed)
      for (const [kind, share] of [
        ['websocket', 0.7],
        ['mqtt', 0.2],
        ['mqtt-ws', 0.1],
      ] as const)
        expect(Math.abs((counts[kind] ?? 0) - share * agents), `${kind} of ${agents}`).toBeLessThan(2.5)
    }
})

it('a device has the same transport in every run, and another seed moves some', () => {
  const mix = parseMix('mix')
  const of = (seed: number): TransportKind[] =>
    Array.from({ length: 200 }, (_, at) => kindFor(mix, at + 1, seed))
  expect(of(3)).toEqual(of(3))
  expect(of(4)).not.toEqual(of(3))
})

it('says what is wrong with a text', () => {
  expect(() => parseMix('carrier-pigeon')).toThrow('carrier-pigeon is none of websocket, mqtt, mqtt-ws, mix')
  expect(() => parseMix('mqtt=x')).toThrow('mqtt needs a weight, as in mqtt=70')
  expect(() => parseMix('mqtt,websocket')).toThrow('mqtt needs a weight')
  expect(() => parseMix('mqtt=-1')).toThrow('mqtt needs a weight')
  expect(() => parseMix('mqtt=0')).toThrow('above zero')
  expect(() => parseMix('')).toThrow('none of')
})
