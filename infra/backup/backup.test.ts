import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'svc-backup-'))
afterAll(() => rmSync(folder, { recursive: true }))
const run = (script: string, ...args: string[]) => {
  const { status, stderr } = spawnSync(join(import.meta.dirname, script), args, { encoding: 'utf8' })
  return { status, stderr: stderr.trim() }
}

describe('archive-wal.sh', () => {
  const [piece, archive] = [join(folder, 'piece'), join(folder, 'wal')]
  const keep = (name: string) => run('archive-wal.sh', piece, name, archive)
  mkdirSync(archive)

  test('keeps a piece for its owner alone, and the same piece again', () => {
    writeFileSync(piece, 'one')
    expect([keep('0001').status, keep('0001').status]).toEqual([0, 0])
    expect(readFileSync(join(archive, '0001'), 'utf8')).toBe('one')
    expect(statSync(join(archive, '0001')).mode & 0o777).toBe(0o600)
    expect(readdirSync(archive)).toEqual(['0001'])
  })

  test('never writes over another', () => {
    writeFileSync(piece, 'two')
    expect(keep('0001')).toEqual({ status: 1, stderr: expect.stringContaining('0001 is there and differs') })
    expect(readFileSync(join(archive, '0001'), 'utf8')).toBe('one')
  })

  test.each(['../out', '.hidden', 'a b', ''])('takes no name like "%s"', (name) => {
    expect(keep(name).status).toBe(64)
  })

  test('takes away what a call that was killed had begun', () => {
    writeFileSync(join(archive, '.0001.99'), 'half')
    writeFileSync(piece, 'one')
    expect(keep('0001').status).toBe(0)
    expect(readdirSync(archive)).toEqual(['0001'])
  })

  test('fails where it cannot write, so that PostgreSQL keeps the piece', () => {
    const lost = run('archive-wal.sh', piece, '0002', join(folder, 'absent'))
    expect(lost.status).not.toBe(0)
  })
})

describe('base-backup.sh', () => {
  /** Programs in the place of PostgreSQL's. */
  const withPrograms = (programs: Record<string, string>) => {
    const bin = mkdtempSync(join(folder, 'bin-'))
    for (const [name, text] of Object.entries(programs))
      writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
    const base = join(bin, 'base')
    const { status, signal } = spawnSync(join(import.meta.dirname, 'base-backup.sh'), [base], {
      env: { PATH: process.env['PATH'], PG_BIN: bin },
      encoding: 'utf8',
    })
    return { status, signal, left: readdirSync(base) }
  }

  test('takes away what it had begun when it is told to end', () => {
    const told = withPrograms({ pg_basebackup: 'kill -s TERM "$PPID"; sleep 0.2' })
    expect(told).toEqual({ status: 143, signal: null, left: [] })
  })

  test('keeps no copy that is not whole', () => {
    const torn = withPrograms({ pg_basebackup: 'exit 0', pg_verifybackup: 'exit 1' })
    expect(torn).toMatchObject({ status: 1, left: [] })
  })
})

describe('restore.sh', () => {
  const [backup, wal, data] = ['a-backup', 'a-wal', 'a-data'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const made of [backup, wal, data]) mkdirSync(made)

  test('takes only a backup', () => {
    expect(run('restore.sh', backup, wal, join(folder, 'new'))).toEqual({
      status: 1,
      stderr: expect.stringContaining('is no backup'),
    })
  })

  test('writes over no data', () => {
    writeFileSync(join(backup, 'backup_manifest'), '{}')
    writeFileSync(join(backup, 'backup_label'), 'START TIMELINE: 1\n')
    writeFileSync(join(data, 'PG_VERSION'), '15')
    expect(run('restore.sh', backup, wal, data)).toEqual({
      status: 1,
      stderr: expect.stringContaining('is not empty'),
    })
    expect(readdirSync(data)).toEqual(['PG_VERSION'])
  })

  test.each(['one', '-1', "2'"])('follows no timeline like %j', (timeline) => {
    const { status, stderr } = spawnSync(
      join(import.meta.dirname, 'restore.sh'),
      [backup, wal, join(folder, 'new')],
      { env: { PATH: process.env['PATH'], TIMELINE: timeline }, encoding: 'utf8' },
    )
    expect([status, stderr]).toEqual([1, expect.stringContaining('neither a number')])
  })

  test.each([`2026' or`, '2026\\', 'now\nx', '$(x)', '`x`'])(
    'takes no time that ends its setting: %j',
    (time) => {
      expect(run('restore.sh', backup, wal, join(folder, 'new'), time).status).toBe(1)
      expect(existsSync(join(folder, 'new'))).toBe(false)
    },
  )
})
