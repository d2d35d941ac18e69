import { type TransportKind, transportKinds } from '../transport/kinds.ts'

/** How a fleet is spread over transports: weights that need not add up to anything. */
export type Mix = Partial<Record<TransportKind, number>>

/** What most fleets look like: few are where only MQTT gets through. */
const usual: Mix = { websocket: 70, mqtt: 20, 'mqtt-ws': 10 }

/** The golden ratio's fraction: steps of it fill the circle evenly, however many are taken. */
const step = (Math.sqrt(5) - 1) / 2

const isKind = (name: string): name is TransportKind => (transportKinds as readonly string[]).includes(name)

/** `websocket`, `mqtt`, `mqtt-ws`, `mix`, or weights as in `websocket=70,mqtt=30`. Throws on anything else, saying what is wrong. */
export function parseMix(text: string): Mix {
  if (text === 'mix') return { ...usual }
  if (isKind(text)) return { [text]: 1 }
  const mix: Mix = {}
  for (const part of text.split(',')) {
    const [name = '', weight = ''] = part.trim().split('=')
    if (!isKind(name)) throw new Error(`${name || part} is none of ${transportKinds.join(', ')}, mix`)
    if (!/^\d+(\.\d+)?$/.test(weight)) throw new Error(`${name} needs a weight, as in ${name}=70`)
    mix[name] = Number(weight)
  }
  if (kindsIn(mix).length === 0) throw new Error('one transport at least needs a weight above zero')
  return mix
}

/** The kinds that get anybody. */
export const kindsIn = (mix: Mix): TransportKind[] => transportKinds.filter((kind) => (mix[kind] ?? 0) > 0)

/**
 * The transport of device `number` (from 1), the same in every run with the seed. Shares hold in every stretch of numbers, so that a
 * small fleet is mixed like a large one.
 */
export function kindFor(mix: Mix, number: number, seed = 0): TransportKind {
  const kinds = kindsIn(mix)
  const total = kinds.reduce((sum, kind) => sum + (mix[kind] ?? 0), 0)
  let left = fraction((number + seed) * step) * total
  for (const kind of kinds) {
    left -= mix[kind] ?? 0
    if (left < 0) return kind
  }
  return kinds[0] ?? 'websocket'
}

const fraction = (value: number): number => value - Math.floor(value)
