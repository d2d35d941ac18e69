import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from './config.ts'

const key = { EDGE_SHARED_KEY: 'k'.repeat(32) }
const redis = { REDIS_URL: 'redis://127.0.0.1' }

describe('the configuration', () => {
  it('needs nothing but the shared key', () => {
    expect(readConfig(key)).toMatchObject({
      host: '127.0.0.1',
      port: 8443,
      mqtt: { host: '127.0.0.1', port: 1883, tlsPort: 8883 },
      metrics: { host: '127.0.0.1', port: 9465 },
      redisUrl: undefined,
      exchangeUrls: ['http://127.0.0.1:8081/internal/edge/exchange'],
      trustedProxies: [],
      tls: undefined,
    })
  })

  it('gives each start a name of its own', () => {
    expect(readConfig(key).node).not.toBe(readConfig(key).node)
    expect(readConfig({ ...key, GATEWAY_NODE: 'edge-1' }).node).toBe('edge-1')
  })

  it('takes an empty variable for an absent one, and switches metrics off', () => {
    const config = readConfig({
      ...key,
      REDIS_URL: '',
      GATEWAY_NODE: '',
      TLS_CERT_FILE: '',
      GATEWAY_METRICS_PORT: 'off',
    })
    expect([config.redisUrl, config.tls, config.metrics]).toEqual([undefined, undefined, undefined])
  })

  it('takes its secrets from files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-config-'))
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), `${text}\n`, { mode: 0o600 })
      return join(folder, name)
    }
    const config = readConfig({
      EDGE_SHARED_KEY_FILE: file('edge', 'k'.repeat(32)),
      REDIS_URL_FILE: file('redis', 'redis://d'),
    })
    rmSync(folder, { recursive: true })
    expect([config.sharedKey, config.redisUrl]).toEqual(['k'.repeat(32), 'redis://d'])
    expect(() => readConfig({ ...key, EDGE_SHARED_KEY_FILE: '/x' })).toThrow(ConfigError)
    expect(() => readConfig({ ...key, EDGE_SHARED_KEY_FILE: '/x' })).toThrow('EDGE_SHARED_KEY is set, too')
  })

  it('has one worker unless told otherwise, or one per core', () => {
    const workers = (given: string | undefined) =>
      readConfig({ ...key, ...redis, GATEWAY_WORKERS: given }).workers
    expect([workers(undefined), workers(''), workers('64')]).toEqual([1, 1, 64])
    expect(workers('auto')).toBe(Math.min(64, availableParallelism()))
  })

  it('switches MQTT off, port by port', () => {
    const mqttOf = (more: Record<string, string>) => readConfig({ ...key, ...more }).mqtt
    expect(mqttOf({ MQTT_PORT: 'off', MQTTS_PORT: '' })).toMatchObject({ port: undefined, tlsPort: 8883 })
    expect(mqttOf({ MQTT_PORT: '0', MQTTS_PORT: 'off' })).toMatchObject({ port: 0, tlsPort: undefined })
  })

  it('takes several control planes', () => {
    const { exchangeUrls } = readConfig({ ...key, EXCHANGE_URL: 'http://a:8081/x, https://b/x' })
    expect(exchangeUrls).toEqual(['http://a:8081/x', 'https://b/x'])
  })

  it('takes another idle time, within what can be timed', () => {
    const idle = (given?: string) => readConfig({ ...key, GATEWAY_IDLE_SECONDS: given }).idleSeconds
    expect([idle(), idle(''), idle('8')]).toEqual([undefined, undefined, 8])
  })

  it('reads a list of trusted proxies', () => {
    const { trustedProxies } = readConfig({ ...key, TRUSTED_PROXIES: '10.0.0.0/8, 2001:db8::/32,192.0.2.1' })
    expect(trustedProxies).toEqual(['10.0.0.0/8', '2001:db8::/32', '192.0.2.1'])
  })

  it.each([
    ['EDGE_SHARED_KEY', {}],
    ['EDGE_SHARED_KEY', { EDGE_SHARED_KEY: 'short' }],
    ['GATEWAY_PORT', { ...key, GATEWAY_PORT: '99999' }],
    ['GATEWAY_IDLE_SECONDS', { ...key, GATEWAY_IDLE_SECONDS: '4' }],
    ['GATEWAY_IDLE_SECONDS', { ...key, GATEWAY_IDLE_SECONDS: '1000' }],
    ['GATEWAY_PORT', { ...key, GATEWAY_PORT: 'https' }],
    ['GATEWAY_NODE', { ...key, GATEWAY_NODE: 'a b' }],
    ['GATEWAY_METRICS_PORT', { ...key, GATEWAY_METRICS_PORT: 'on' }],
    ['MQTT_PORT', { ...key, MQTT_PORT: 'on' }],
    ['MQTTS_PORT', { ...key, MQTTS_PORT: '70000' }],
    ['GATEWAY_WORKERS', { ...key, GATEWAY_WORKERS: '0' }],
    ['GATEWAY_WORKERS', { ...key, GATEWAY_WORKERS: '65' }],
    ['GATEWAY_WORKERS', { ...key, GATEWAY_WORKERS: 'many' }],
    ['REDIS_URL', { ...key, GATEWAY_WORKERS: '2' }],
    ['GATEWAY_NODE', { ...key, ...redis, GATEWAY_WORKERS: '2', GATEWAY_NODE: 'n'.repeat(57) }],
    ['REDIS_URL', { ...key, REDIS_URL: 'http://127.0.0.1' }],
    ['REDIS_URL', { ...key, REDIS_URL: 'redis://:50%off@127.0.0.1' }],
    ['EXCHANGE_URL', { ...key, EXCHANGE_URL: 'nowhere' }],
    ['EXCHANGE_URL', { ...key, EXCHANGE_URL: 'http://a:8081/x, ftp://b' }],
    ['EXCHANGE_URL', { ...key, EXCHANGE_URL: ',' }],
    ['TRUSTED_PROXIES', { ...key, TRUSTED_PROXIES: '10.0.0.0/33' }],
    ['TRUSTED_PROXIES', { ...key, TRUSTED_PROXIES: 'proxy.example' }],
    ['TLS_KEY_FILE', { ...key, TLS_CERT_FILE: 'cert.pem' }],
    ['TLS_CERT_FILE', { ...key, TLS_KEY_FILE: 'key.pem' }],
    ['LOG_LEVEL', { ...key, LOG_LEVEL: 'loud' }],
  ])('names %s in one line when it is wrong', (name, env) => {
    expect(() => readConfig(env)).toThrow(ConfigError)
    expect(() => readConfig(env)).toThrow(new RegExp(`^${name}: [^\\n]+$`))
  })

  it('serves agents in the clear in production only from loopback or behind trusted proxies', () => {
    const production = { ...key, NODE_ENV: 'production', GATEWAY_HOST: '0.0.0.0' }
    expect(() => readConfig(production)).toThrow(/^TLS_CERT_FILE: needed in production/)
    for (const more of [
      { GATEWAY_HOST: '127.0.0.1' },
      { TRUSTED_PROXIES: '10.0.0.0/8' },
      { TLS_CERT_FILE: 'c', TLS_KEY_FILE: 'k' },
      { NODE_ENV: 'development' },
    ])
      expect(() => readConfig({ ...production, ...more })).not.toThrow()
  })

  it('speaks MQTT in the clear in production only on loopback or behind trusted proxies', () => {
    const production = { ...key, NODE_ENV: 'production', MQTT_HOST: '0.0.0.0' }
    expect(() => readConfig(production)).toThrow(/^MQTT_PORT: must be off in production/)
    const tls = { TLS_CERT_FILE: 'c', TLS_KEY_FILE: 'k' }
    expect(() => readConfig({ ...production, ...tls })).toThrow(/^MQTT_PORT/)
    for (const more of [
      { MQTT_HOST: '::1' },
      { TRUSTED_PROXIES: '10.0.0.0/8' },
      { MQTT_PORT: 'off', ...tls },
      { NODE_ENV: 'development' },
    ])
      expect(() => readConfig({ ...production, ...more })).not.toThrow()
  })
})
