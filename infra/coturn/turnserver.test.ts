import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../tools/services.ts'
import { startChild } from '../../tools/services/child.ts'
import { withProgram } from '../test/needs.ts'

const file = join(import.meta.dirname, 'turnserver.conf')
const text = readFileSync(file, 'utf8')

describe('turnserver.conf', () => {
  const denied = new BlockList()
  for (const [, from = '', to = ''] of text.matchAll(/^denied-peer-ip=([^-]+)-(.+)$/gm))
    denied.addRange(from, to, from.includes(':') ? 'ipv6' : 'ipv4')

  test.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.30.10.2',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
  ])('relays nothing to %s', (address) => expect(denied.check(address)).toBe(true))

  test.each(['::1', '::', 'fe80::1', 'fd00::1', '64:ff9b::7f00:1', '::ffff:10.0.0.1'])(
    'relays nothing to %s',
    (address) => {
      expect(denied.check(address, 'ipv6')).toBe(true)
    },
  )

  test('relays to the rest of the world', () => {
    expect([denied.check('192.0.3.1'), denied.check('9.9.9.9'), denied.check('2001:db8::1', 'ipv6')]).toEqual(
      [false, false, false],
    )
  })
})

withProgram('turnserver', 'coturn', 'coturn', (turnserver) => {
  const start = async (more: string) => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-turn-'))
    const lines: string[] = []
    writeFileSync(join(folder, 'conf'), `${text}\n${more}\n`)
    const child = await startChild({
      name: 'turnserver',
      // Line by line: into a pipe it writes when its buffer is full.
      command: '/usr/bin/stdbuf',
      args: [
        '-oL',
        turnserver,
        '-c',
        join(folder, 'conf'),
        '--listening-ip',
        '127.0.0.1',
        '--relay-ip',
        '127.0.0.1',
        '--listening-port',
        String(await freePort()),
        '--pidfile',
        join(folder, 'pid'),
        '--userdb',
        join(folder, 'db'),
      ],
      env: { PATH: process.env['PATH'] },
      ready: /Default realm: svc/,
      readyWithinMs: 10_000,
      stopSignal: 'SIGTERM',
      onLog: (line) => lines.push(line),
    })
    await child.stop()
    rmSync(folder, { recursive: true })
    return lines.filter((line) => /error|bad conf|unknown|warning: bad/i.test(line))
  }

  test('understands every line of it', async () => {
    expect(await start('static-auth-secret=secret')).toEqual([])
    expect(await start('static-auth-secret=secret\nno-such-thing')).not.toEqual([])
  })
})
