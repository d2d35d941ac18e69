import { expect, it } from 'vitest'
import { identityOf } from '../identity/identity.ts'
import { kindOf, urlsOf } from './kinds.ts'

it('a URL tells what is spoken there', () => {
  expect(
    [
      'ws://a:1/agent',
      'wss://a/agent',
      'wss://a',
      'ws://a/mqtt',
      'wss://a:8443/mqtt/',
      'mqtt://a',
      'mqtts://a:8883',
      'ws://a/other/mqtt',
      'http://a/agent',
      'a:1883',
      'no url',
    ].map((url) => kindOf(url) ?? 'nothing'),
  ).toEqual([
    'websocket',
    'websocket',
    'websocket',
    'mqtt-ws',
    'mqtt-ws',
    'mqtt',
    'mqtt',
    'websocket',
    'nothing',
    'nothing',
    'nothing',
  ])
})

const enrolled = (gatewayUrls: unknown) =>
  identityOf({
    deviceId: 'd',
    deviceToken: 't',
    gatewayUrls,
    commandSigningKeys: [{ keyId: 'k', publicKey: 'p' }],
    releaseKeys: [],
  }).gateways

it('an agent needs WebSocket, and keeps of MQTT what it knows', () => {
  const websocket = ['ws://a/agent', 'ws://b/agent']
  expect(enrolled({ websocket })).toEqual(websocket)
  const all = enrolled({ websocket, mqtt: ['mqtt://a', 'wss://a/mqtt', 'quic://a'] })
  expect(all).toEqual([...websocket, 'mqtt://a', 'wss://a/mqtt'])
  expect(urlsOf('websocket', all)).toEqual(websocket)
  expect(urlsOf('mqtt-ws', all)).toEqual(['wss://a/mqtt'])
  for (const wrong of [{}, { mqtt: ['mqtt://a'] }, { websocket: [] }, { websocket: ['quic://a'] }, undefined])
    expect(() => enrolled(wrong)).toThrow('gateway URLs')
})
