import { expect, test } from 'vitest'
import { readSources } from './layers/sources.ts'
import { doorsOf } from './outgoing/doors.ts'

/**
 * Every source of the control plane that can open a connection by itself, by what, and why that is no way around `engines/egress`.
 * Databases, Redis and mail have drivers of their own and addresses of the operator's.
 */
const known: Record<string, [doors: string, why: string]> = {
  'engines/egress/connect.ts': ['net tls', 'the engine: connects to addresses that were checked'],
  'engines/egress/resolve.ts': ['dns/promises', 'the engine: looks names up, once'],
  'engines/egress/undici.ts': ['undici', 'the engine: speaks HTTP over such a connection'],
  'engines/egress/make.ts': ['fetch', 'declares what is called so'],
  'adapters/egress.ts': ['fetch', 'declares what is called so'],
  'adapters/oidc/client.ts': [
    'openid-client',
    'each of its requests is handed to the engine (adapters/oidc/fetch.ts)',
  ],
  'adapters/oidc/failures.ts': ['openid-client', 'names of its errors'],
  'kernel/db.ts': ['fetch', 'SQL of a cursor'],
  'adapters/line.ts': ['net', 'DATABASE_URL, of the operator'],
  'adapters/release-host.ts': ['fetch', 'RELEASE_HOST_URL and RELEASE_ASSET_HOSTS, of the operator'],
  'adapters/sms/undici.ts': ['undici', 'SMS_URL, of the operator'],
}

const root = 'control-plane/src/'
const sources = [...readSources()].filter(([path]) => path.startsWith(root) && !path.endsWith('.test.ts'))

test('nobody asks anything over the network but by the engine, and those who are known', () => {
  expect(sources.length).toBeGreaterThan(300)
  const found = Object.fromEntries(
    sources
      .map(([path, text]) => [path.slice(root.length), doorsOf(text).join(' ')] as const)
      .filter(([, doors]) => doors !== ''),
  )
  const expected = Object.fromEntries(Object.entries(known).map(([path, [doors]]) => [path, doors]))
  expect(
    found,
    'tenants’ addresses go through ports.egress; another one of the operator’s is listed here',
  ).toEqual(expected)
})

test.each([
  ['await fetch(url)', 'fetch'],
  ['const call = options.fetch ?? fetch', 'fetch'],
  ['globalThis.fetch(url)', 'globalThis'],
  ["globalThis['fetch'](url)", 'globalThis'],
  ['const { fetch: ask } = globalThis', 'fetch globalThis'],
  ["import { request } from 'node:https'", 'https'],
  ["import {\n  type Server,\n  get,\n} from 'node:http'", 'http'],
  ["import http from 'http'", 'http'],
  ["import * as net from 'node:net'", 'net'],
  ["import { isIP, connect } from 'node:net'", 'net'],
  ["const { request } = await import('node:http')", 'http'],
  ["export { request } from 'undici'", 'undici'],
  ["import { Agent } from 'undici'", 'undici'],
  ["const { Pool } = await import('undici')", 'undici'],
  ["import * as client from 'openid-client'", 'openid-client'],
  ["import { createRemoteJWKSet } from 'jose'", 'createRemoteJWKSet'],
  ["import { WebSocket } from 'ws'", 'WebSocket ws'],
  ['new WebSocket(url)', 'WebSocket'],
  ["import { lookup } from 'node:dns'", 'dns'],
  ["import { execFile } from 'node:child_process'", 'child_process'],
  ["process.getBuiltinModule('node:http')", 'http'],
])('a new way out is found: %s', (text, door) => {
  expect(doorsOf(`const before = 1\n${text}\n`).join(' ')).toBe(door)
})

test.each([
  ['await ports.egress.fetch(url)'],
  ["import { createServer, type Server } from 'node:http'"],
  ["import type { Socket } from 'node:net'"],
  ["import { type Client } from 'undici'"],
  ["import type { Dispatcher } from 'undici'"],
  ["import { isIP } from 'node:net'"],
  ["route('POST /devices/provision/fetch', {})"],
  ['/** Like `fetch`, but fetch is not called. */'],
  ['// fetch(url)'],
  ['const prefetched = fetched(1)'],
])('what opens nothing is none: %s', (text) => {
  expect(doorsOf(text)).toEqual([])
})
