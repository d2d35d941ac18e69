import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
      drainDelayMs: 5_000,
    })
    const gateway = readGateway(environment('svc-gateway.service', 'gateway.env'))
    expect(gateway).toMatchObject({ redisUrl: 'redis://x/y', sharedKey: 'k'.repeat(32), node: 'edge-21' })
    expect(gateway.workers).toBeGreaterThan(0)
  })
})

withProgram('systemd-analyze', 'systemd', 'systemd', (analyze) => {
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
