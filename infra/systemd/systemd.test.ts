import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readConfig as readServer } from '../../control-plane/src/config.ts'
import { readConfig as readGateway } from '../../edge-gateway/src/config.ts'
import { variablesIn } from '../test/compose.ts'
import { controlPlaneDrainMs, gatewayDrainMs } from '../test/drain.ts'
import { withProgram } from '../test/needs.ts'

const here = import.meta.dirname
const read = (name: string) => readFileSync(join(here, name), 'utf8')
const units = readdirSync(here).filter((name) => /\.(service|timer)$/.test(name))
const folder = mkdtempSync(join(tmpdir(), 'svc-systemd-'))
afterAll(() => rmSync(folder, { recursive: true }))

const settings = (unit: string, key: string) =>
  [...read(unit).matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value)

describe('units', () => {
  test('wait for a drain as long as it takes', () => {
    const seconds = (unit: string) => Number(settings(unit, 'TimeoutStopSec')[0]) * 1_000
    expect(seconds('svc-gateway.service')).toBe(gatewayDrainMs + 5_000)
    expect(seconds('svc-control-plane.service')).toBe(controlPlaneDrainMs + 5_000)
  })

  test('start what operations.md lays out, with as many descriptors as it serves', () => {
    const install = readFileSync(join(here, '../../docs/operations.md'), 'utf8')
    const programs = units.flatMap((unit) => settings(unit, 'ExecStart'))
    expect(programs).toEqual([
      '/usr/lib/svc/backup/base-backup.sh /var/backups/svc/base',
      '/usr/bin/node /opt/svc/control-plane/control-plane.mjs',
      '/usr/bin/node /opt/svc/gateway/gateway.mjs',
    ])
    for (const place of ['/usr/lib/svc/backup', '/opt/svc/control-plane', '/var/backups/svc/wal'])
      expect(install).toContain(place)
    expect(existsSync(join(here, '../backup/base-backup.sh'))).toBe(true)
    expect(Number(settings('svc-gateway.service', 'LimitNOFILE')[0])).toBeGreaterThan(100_000)
    // Two for each connection, and some for itself.
    const [, most] = /MAXCONN-(\d+)/.exec(readFileSync(join(here, '../haproxy/haproxy.cfg'), 'utf8')) ?? []
    const [, proxy] = /^LimitNOFILE=(\d+)$/m.exec(read('haproxy.service.d/svc.conf')) ?? []
    expect(Number(proxy)).toBeGreaterThan(2 * Number(most) + 1_000)
  })

  test('do not try a bad configuration again', () => {
    for (const unit of ['svc-gateway.service', 'svc-control-plane.service'])
      expect(settings(unit, 'RestartPreventExitStatus')).toEqual(['78'])
  })

  /** What systemd makes of the unit and its file of settings, credentials included. */
  const environment = (unit: string, file: string) => {
    const words = settings(unit, 'Environment').flatMap((line) => line.split(' '))
    const credentials = join(folder, `credentials-${unit}`)
    mkdirSync(credentials)
    for (const name of settings(unit, 'LoadCredential').map((line) => line.split(':')[0] ?? ''))
      writeFileSync(
        join(credentials, name),
        name.endsWith('_url') ? `${name.startsWith('redis') ? 'redis' : 'postgres'}://x/y\n` : 'k'.repeat(32),
        { mode: 0o400 },
      )
    return { ...variablesIn(words.join('\n').replaceAll('%d', credentials)), ...variablesIn(read(file)) }
  }

  test('configure programs that start in production', () => {
    const server = readServer(environment('svc-control-plane.service', 'control-plane.env'))
    expect(server).toMatchObject({
      environment: 'production',
      databaseUrl: 'postgres://x/y',
      redisUrl: 'redis://x/y',
      keysDir: '/etc/svc/keys',
      auditHeadsDir: `/var/lib/${settings('svc-control-plane.service', 'StateDirectory')[0]}`,
      drainDelayMs: 5_000,
    })
    const gateway = readGateway(environment('svc-gateway.service', 'gateway.env'))
    expect(gateway).toMatchObject({ redisUrl: 'redis://x/y', sharedKey: 'k'.repeat(32), node: 'edge-21' })
    expect(gateway.workers).toBeGreaterThan(0)
  })
})

describe('svc-admin of a host', () => {
  const etc = join(folder, 'etc')
  mkdirSync(join(etc, 'secrets'), { recursive: true })
  for (const name of ['database_url', 'redis_url', 'edge_shared_key'])
    writeFileSync(join(etc, 'secrets', name), `${name} of $(this) host\n`)
  // Stands in for the program that becomes another user, and says what it was given.
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'setpriv'), '#!/bin/sh\nprintf "%s\\n" "$*"; env\n', { mode: 0o755 })
  const run = (settings: string) => {
    writeFileSync(join(etc, 'control-plane.env'), settings)
    const { status, stdout, stderr } = spawnSync(
      join(here, 'svc-admin'),
      ['create-partner', '--name', 'A B'],
      {
        env: { PATH: `${bin}:${process.env['PATH']}`, SVC_ETC: etc },
        encoding: 'utf8',
      },
    )
    return { status, stderr, arguments: stdout.split('\n')[0], env: variablesIn(stdout) }
  }

  test('hands over secrets and settings, and becomes the user of the services', () => {
    const done = run(read('control-plane.env'))
    expect(done).toMatchObject({ status: 0, stderr: '' })
    expect(done.arguments).toMatch(
      /^--reuid svc --regid svc --clear-groups .*admin\.mjs create-partner --name A B$/,
    )
    expect(done.env).toMatchObject({
      ...variablesIn(read('control-plane.env')),
      DATABASE_URL: 'database_url of $(this) host',
      REDIS_URL: 'redis_url of $(this) host',
      EDGE_SHARED_KEY: 'edge_shared_key of $(this) host',
      KEYS_DIR: join(etc, 'keys'),
      AUDIT_HEADS_DIR: '/var/lib/svc/audit',
    })
  })

  test('reads settings as systemd does, not as a shell', () => {
    const { env, stderr } = run(
      '# x\n\nGATEWAY_URLS=wss://a/agent, mqtts://a\nPUBLIC_URL="https://a/$(id)"\n',
    )
    expect(stderr).toBe('')
    expect(env).toMatchObject({ GATEWAY_URLS: 'wss://a/agent, mqtts://a', PUBLIC_URL: 'https://a/$(id)' })
  })
})

withProgram('systemd-analyze', 'systemd', 'systemd', (analyze) => {
  const callsOf = (group: string): string[] => {
    const { stdout } = spawnSync(analyze, ['syscall-filter', group], { encoding: 'utf8' })
    const names = stdout
      .split('\n')
      .slice(1)
      .map((line) => line.trim())
    return names
      .filter((name) => name && !name.startsWith('#'))
      .flatMap((name) => (name.startsWith('@') ? callsOf(name) : [name]))
  }
  /** What a unit lets its program ask of the kernel. */
  const allowedBy = (unit: string) => {
    const allowed = new Set(callsOf('@default'))
    for (const words of settings(unit, 'SystemCallFilter')) {
      const calls = words.replace('~', '').split(' ').flatMap(callsOf)
      for (const call of calls) {
        if (words.startsWith('~')) allowed.delete(call)
        else allowed.add(call)
      }
    }
    return allowed
  }

  withProgram('strace', 'strace', 'what Node asks of the kernel', (strace) => {
    /** Sockets, files, names, a worker and a child: what our programs are made of. */
    const life = `
      const { createServer } = require('node:net'), { Worker } = require('node:worker_threads')
      require('node:fs').readFileSync('/etc/hosts')
      const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1', () =>
        require('node:net').connect(server.address().port, 'localhost').resume().on('close', () => server.close()))
      new Worker('1', { eval: true })
      require('node:child_process').spawn(process.execPath, ['-p', '1'])`

    test('each unit lets Node have it', () => {
      const trace = join(folder, 'trace')
      const ran = spawnSync(strace, ['-f', '-qq', '-o', trace, process.execPath, '-e', life], {
        encoding: 'utf8',
      })
      expect(ran.status, ran.stderr).toBe(0)
      const asked = new Set(
        [...readFileSync(trace, 'utf8').matchAll(/^\d+ +(\w+)\(/gm)].map(([, call = '']) => call),
      )
      expect(asked).toContain('listen')
      for (const unit of ['svc-gateway.service', 'svc-control-plane.service']) {
        const allowed = allowedBy(unit)
        expect([unit, ...[...asked].filter((call) => !allowed.has(call))]).toEqual([unit])
        expect(allowed).not.toContain('setuid')
      }
      // Each call stops twice, which takes long where there is little of the machine left.
    }, 60_000)
  })

  /** Programs stand in for those that a host of ours has. */
  const copies = units.map((unit) => {
    const path = join(folder, unit)
    writeFileSync(
      path,
      read(unit)
        .replaceAll(/^ExecStart=.*$/gm, 'ExecStart=/bin/true')
        .replaceAll(/^Documentation=.*\n/gm, ''),
    )
    return path
  })
  const verify = (...paths: string[]) => {
    const { status, stderr } = spawnSync(analyze, ['verify', '--man=no', ...paths], { encoding: 'utf8' })
    return {
      status,
      said: stderr
        .trim()
        .split('\n')
        .filter((line) => line.includes(folder) || /svc-/.test(line)),
    }
  }

  test('understands every line', () => {
    expect(verify(...copies)).toEqual({ status: 0, said: [] })
    const wrong = join(folder, 'svc-wrong.service')
    writeFileSync(wrong, '[Service]\nExecStart=/bin/true\nProtectSystm=strict\n')
    expect(verify(wrong).said.join()).toContain('ProtectSystm')
  })

  test.each(copies.filter((path) => /(gateway|control-plane)\.service$/.test(path)))(
    'finds little that %s could do',
    (path) => {
      const { status, stdout, stderr } = spawnSync(
        analyze,
        ['security', '--offline=yes', '--threshold=15', '--no-pager', path],
        { encoding: 'utf8' },
      )
      expect(status, stdout.slice(-300) + stderr).toBe(0)
    },
  )
})
