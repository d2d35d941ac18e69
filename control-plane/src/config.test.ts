import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ConfigError, readConfig } from './config.ts'
import { usualPorts } from './engines/egress/egress.ts'

const least = { DATABASE_URL: 'postgres://localhost/svc', KEYS_DIR: '/keys', EDGE_SHARED_KEY: 'x'.repeat(32) }

describe('the configuration', () => {
  test('needs three variables; the rest has defaults', () => {
    const config = readConfig(least)
    expect(config).toMatchObject({
      port: 8080,
      internalPort: 8081,
      autoMigrate: true,
      enable2fa: true,
      enableRegistration: false,
    })
    expect(config.publicUrl).toBe('http://127.0.0.1:8080')
    expect(config.pipeline.commandLeaseMs).toBe(30_000)
  })

  test.each<[Record<string, string>, string]>([
    [{ DATABASE_URL: '' }, 'DATABASE_URL: is not set'],
    [{ DATABASE_URL: 'mysql://x/y' }, 'DATABASE_URL: not a postgres:'],
    [{ DATABASE_URL: 'postgres://u:50%off@x/y' }, 'DATABASE_URL: holds a % that must be written %25'],
    [{ REDIS_URL: 'redis://:50%off@x' }, 'REDIS_URL: holds a %'],
    [{ SMTP_URL: 'smtp://u:50%off@x', MAIL_FROM: 'a@b.example' }, 'SMTP_URL: holds a %'],
    [{ PORT: 'eighty' }, 'PORT: '],
    [{ PORT: '70000' }, 'PORT: '],
    [{ ENABLE_2FA: 'perhaps' }, 'ENABLE_2FA: '],
    [{ EDGE_SHARED_KEY: 'short' }, 'EDGE_SHARED_KEY: '],
    [{ TRUSTED_PROXIES: '10.0.0.0/8, lb' }, 'TRUSTED_PROXIES: not an address or CIDR: lb'],
    [{ TRUSTED_PROXIES: '10.0.0.0/33' }, 'TRUSTED_PROXIES: not an address or CIDR: 10.0.0.0/33'],
    // Each was read as a range of its own: all addresses, or one that is not written there.
    [{ TRUSTED_PROXIES: '10.0.0.0/' }, 'TRUSTED_PROXIES: not an address or CIDR: 10.0.0.0/'],
    [{ TRUSTED_PROXIES: '10.0.0.0/8/9' }, 'TRUSTED_PROXIES: not an address or CIDR: 10.0.0.0/8/9'],
    [{ TRUSTED_PROXIES: '10.0.0.0/0x8' }, 'TRUSTED_PROXIES: not an address or CIDR: 10.0.0.0/0x8'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL: '],
    [{ RELEASE_KEYS: 'c2hvcnQ=' }, 'RELEASE_KEYS: not the 32 bytes of a key in base64: c2hvcnQ='],
    [{ BINARY_SOURCE: 'ftp' }, 'BINARY_SOURCE: '],
    [{ BINARY_SOURCE: 'local' }, 'BINARY_DIR: is not set'],
    [{ RELEASE_REPO: 'a/b/c' }, 'RELEASE_REPO: not owner/name'],
    [{ SMTP_URL: 'http://mail' }, 'SMTP_URL: not a smtp:'],
    [{ SMTP_URL: 'smtp://mail' }, 'MAIL_FROM: is not set'],
    [{ SMTP_URL: 'smtp://mail', MAIL_FROM: 'a@b.example\r\nBcc: c@d.example' }, 'MAIL_FROM: not an address'],
    [{ SMS_DRIVER: 'pigeon' }, 'SMS_DRIVER: '],
    [{ SMS_DRIVER: 'log' }, 'SMS_DRIVER: log is not for production'],
    [{ SMS_DRIVER: 'http', SMS_TOKEN: 'x' }, 'SMS_URL: is not set, and SMS_DRIVER is http'],
    [{ SMS_DRIVER: 'twilio', SMS_ACCOUNT: 'AC1', SMS_TOKEN: 'x' }, 'SMS_FROM: is not set'],
    [{ EGRESS_ALLOW: 'idp.example' }, 'EGRESS_ALLOW: not an address or CIDR: idp.example'],
    [{ EGRESS_ALLOW: '10.0.0.0/' }, 'EGRESS_ALLOW: not an address or CIDR'],
    [{ EGRESS_ALLOW: '0.0.0.0/0' }, 'EGRESS_ALLOW: is too much at once: 0.0.0.0/0'],
    [{ EGRESS_ALLOW: '10.0.0.1 ::/8' }, 'EGRESS_ALLOW: '],
    [{ EGRESS_ALLOW: 'fd00::/15' }, 'EGRESS_ALLOW: is too much at once: fd00::/15'],
    [{ EGRESS_ALLOW: '::ffff:0:0/97' }, 'EGRESS_ALLOW: write addresses of IPv4 as such'],
    [{ EGRESS_ALLOW: '::ffff:10.0.0.1' }, 'EGRESS_ALLOW: write addresses of IPv4 as such'],
    [{ EGRESS_ALLOW: '::/16' }, 'EGRESS_ALLOW: write addresses of IPv4 as such'],
    [{ EGRESS_DENY: '::ffff:8.8.0.0/112' }, 'EGRESS_DENY: write addresses of IPv4 as such'],
    [{ EGRESS_DENY: '10.0.0.0/33' }, 'EGRESS_DENY: not an address or CIDR'],
    [{ EGRESS_HTTP: 'sometimes' }, 'EGRESS_HTTP: '],
    [{ EGRESS_PORTS: '443, 25' }, 'EGRESS_PORTS: not 80, 443, or a port or range from 1024 on: 25'],
    [{ EGRESS_PORTS: '1-65535' }, 'EGRESS_PORTS: '],
    [{ EGRESS_PORTS: '9000-8000' }, 'EGRESS_PORTS: '],
    [{ EGRESS_PORTS: '70000' }, 'EGRESS_PORTS: '],
    [{ EGRESS_RESOLVERS: 'dns.example' }, 'EGRESS_RESOLVERS: not an address, or address:port: dns.example'],
    [{ EGRESS_RESOLVERS: '10.0.0.53:0' }, 'EGRESS_RESOLVERS: '],
    [{ COMMAND_LEASE_MS: '0' }, 'COMMAND_LEASE_MS: '],
  ])('with %o is refused in one line that names the variable', (wrong, line) => {
    const read = () => readConfig({ ...least, ...wrong })
    expect(read).toThrow(ConfigError)
    expect(read).toThrow(line)
    expect(read).not.toThrow('\n')
  })

  test('shows mail and text messages to the host where nothing sends them, but never in production', () => {
    expect(readConfig(least)).toMatchObject({ mail: undefined, sms: undefined })
    const development = { ...least, NODE_ENV: 'development' }
    expect(readConfig(development)).toMatchObject({ mail: { driver: 'shown' }, sms: { driver: 'log' } })
    const server = { SMTP_URL: 'smtps://u:p@mail', MAIL_FROM: 'Service <a@b.example>' }
    expect(readConfig({ ...development, ...server }).mail).toEqual({
      driver: 'smtp',
      url: 'smtps://u:p@mail',
      from: 'Service <a@b.example>',
    })
    const twilio = { SMS_DRIVER: 'twilio', SMS_ACCOUNT: 'AC1', SMS_TOKEN: 'x', SMS_FROM: '+15550001111' }
    expect(readConfig({ ...least, ...twilio }).sms).toMatchObject({
      driver: 'twilio',
      url: 'https://api.twilio.com',
    })
  })

  test('asks tenants’ addresses on the Internet alone, over TLS, unless it says more', () => {
    const { egress } = readConfig(least)
    expect(egress).toMatchObject({ http: false, resolvers: [] })
    expect(egress.ports).toEqual(usualPorts)
    expect(egress.allow.rules).toEqual([])
    const more = {
      EGRESS_ALLOW: '10.1.2.3, fd00:1::/32 127.0.0.0/8',
      EGRESS_HTTP: 'true',
      EGRESS_PORTS: '443 9000-9100',
      EGRESS_RESOLVERS: '10.0.0.53 [fd00::53]:5353, fd00::53',
    }
    expect(readConfig({ ...least, ...more }).egress).toMatchObject({
      http: true,
      ports: [
        [443, 443],
        [9000, 9100],
      ],
      resolvers: ['10.0.0.53', '[fd00::53]:5353', 'fd00::53'],
    })
    expect(readConfig({ ...least, ...more }).egress.allow.rules).toHaveLength(3)
  })

  test('takes each secret from a file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-config-'))
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), `${text}\n`, { mode: 0o600 })
      return join(folder, name)
    }
    const config = readConfig({
      KEYS_DIR: '/keys',
      DATABASE_URL_FILE: file('database', 'postgres://a/svc'),
      DATABASE_APP_URL_FILE: file('app', 'postgres://b/svc'),
      DATABASE_WORKER_URL_FILE: file('worker', 'postgres://c/svc'),
      REDIS_URL_FILE: file('redis', 'redis://d'),
      EDGE_SHARED_KEY_FILE: file('edge', 'k'.repeat(32)),
      RELEASE_TOKEN_FILE: file('token', 't'),
    })
    rmSync(folder, { recursive: true })
    expect([config.databaseUrl, config.databaseAppUrl, config.databaseWorkerUrl, config.redisUrl]).toEqual([
      'postgres://a/svc',
      'postgres://b/svc',
      'postgres://c/svc',
      'redis://d',
    ])
    expect([config.edgeSharedKey, config.releaseHost.token]).toEqual(['k'.repeat(32), 't'])
    expect(() => readConfig({ ...least, RELEASE_TOKEN_FILE: '/absent' })).toThrow(ConfigError)
    expect(() => readConfig({ ...least, REDIS_URL_FILE: '/absent' })).toThrow(/^REDIS_URL_FILE: cannot read/)
  })

  test('reads lists and numbers of the pipeline', () => {
    const config = readConfig({
      ...least,
      COMMAND_LEASE_MS: '50',
      GATEWAY_URLS: 'wss://a/agent, wss://b/agent',
      TRUSTED_PROXIES: '10.0.0.0/8 ::1',
      PUBLIC_URL: 'https://svc.example/',
    })
    expect(config.pipeline.commandLeaseMs).toBe(50)
    expect(config.gatewayUrls).toEqual(['wss://a/agent', 'wss://b/agent'])
    expect(config.publicUrl).toBe('https://svc.example')
    expect([config.trustedProxies.check('10.9.9.9'), config.trustedProxies.check('11.0.0.1')]).toEqual([
      true,
      false,
    ])
  })
})
