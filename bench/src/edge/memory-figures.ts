import type { Figure } from '../method/contract.ts'

/** What is measured: bytes that one more connection costs. */
export const measure = 'memory per connection'

const kilobytes = (count: number) => Math.round(count * 1024)

const figure = (id: string, title: string, side: string, more: Partial<Figure>): Figure => ({
  id,
  title,
  measure,
  side,
  target: {},
  limitedBy: 'the engine: a WebSocket of uWebSockets.js in C++, its JavaScript object, link and session',
  ...more,
})

const mqttLimits = {
  limitedBy: 'aedes: a Client with two streams, parser and writer for each connection, beside our own stream',
  wouldReach: 'an MQTT codec of our own on the engine, without streams',
}

export const figures: Figure[] = [
  figure('G2', 'WebSocket', 'ours', {
    peer: 'ws',
    target: { atMost: kilobytes(2), ratioAtMost: 0.35 },
    wouldReach:
      'timers and limits of a session in one object instead of several; the ratio is about its target from run to run',
  }),
  figure('G2', 'WebSocket', 'ours', { peer: 'mosquitto:websocket', target: { ratioAtMost: 0.35 } }),
  figure('G2', 'WebSocket', 'ours', { peer: 'aedes', target: { ratioAtMost: 0.15 } }),
  figure('G2', 'WebSocket', 'ours', { peer: 'meshcentral' }),
  figure('G2t', 'WebSocket under TLS 1.3', 'ours:tls', {
    peer: 'ws:tls',
    target: { atMost: kilobytes(7), ratioAtMost: 0.25 },
    limitedBy: "the engine's TLS: an SSL object for each connection, buffers given back while it is idle",
  }),
  figure('G2m', 'MQTT over TCP', 'ours:mqtt', { peer: 'aedes', target: { ratioAtMost: 1.1 }, ...mqttLimits }),
  figure('G2m', 'MQTT over WebSocket', 'ours:mqtt-ws', {
    peer: 'aedes',
    target: { ratioAtMost: 1.1 },
    ...mqttLimits,
  }),
]
