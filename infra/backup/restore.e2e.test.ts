import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgresWithTools, Site } from './server.ts'

const bin = postgresWithTools()

describe.skipIf(!bin)(
  'a database that is backed up and restored (needs PostgreSQL with pg_basebackup)',
  () => {
    const site = new Site(bin ?? '')
    let [backup, afterTwo, afterThree, later] = ['', '', '', '']
    beforeAll(async () => {
      await site.begin()
      site.tell('one')
      backup = site.backUp().made
      site.tell('two')
      afterTwo = await site.moment()
      site.tell('three')
      afterThree = await site.moment()
      site.tell('four')
      await site.archived()
    })
    afterAll(() => site.end())

    test('has what was told until the moment that was asked for, and goes on archiving', async () => {
      expect(await site.restore(backup, 'wrong', [afterTwo])).toEqual(['one', 'two'])
      site.tell('of another life')
      await site.archived()
      expect(site.sql('select failed_count from pg_stat_archiver')).toEqual(['0'])
    })

    test('is not brought along another life than was meant, once there are two', async () => {
      site.stop()
      const { status, said } = site.layOut(backup, 'unsaid', [afterThree])
      expect(status).toBe(1)
      expect(said).toMatch(/timeline 1, and the archive holds later ones:\n\s+2 left 1 .* before \d{4}-/)
      const first = { TIMELINE: '1' }
      expect(await site.restore(backup, 'right', [afterThree], first)).toEqual(['one', 'two', 'three'])
      expect(await site.restore(backup, 'all', [], first)).toEqual(['one', 'two', 'three', 'four'])
      const newest = await site.restore(backup, 'newest', [], { TIMELINE: '2' })
      expect(newest).toEqual(['one', 'two', 'of another life'])
    })

    test('is whole again from a backup of a server that was restored to a moment itself', async () => {
      await site.restore(backup, 'to-a-moment', [afterTwo], { TIMELINE: '1' })
      later = site.backUp().made
      site.tell('since')
      await site.archived()
      expect(await site.restore(later, 'again')).toEqual(['one', 'two', 'since'])
    })

    test('does not open without a piece that is there and cannot be read', () => {
      site.stop()
      const pieces = readdirSync(site.wal).filter((name) => /^[0-9A-F]{24}$/.test(name))
      const needed = pieces.sort().at(-1) ?? ''
      rmSync(join(site.wal, needed))
      mkdirSync(join(site.wal, needed), { mode: 0o755 })
      expect(site.layOut(later, 'unread', [], { TIMELINE: 'latest' })).toMatchObject({ status: 0 })
      expect(site.failsToStart('unread')).toMatch(/FATAL:.*exit code 255/)
      rmSync(join(site.wal, needed), { recursive: true })
    })
  },
)

describe.skipIf(!bin)('base-backup.sh (needs PostgreSQL with pg_basebackup)', () => {
  const site = new Site(bin ?? '')
  beforeAll(() => site.begin())
  afterAll(() => site.end())
  const kept = () => readdirSync(site.base).sort()

  test('keeps as many as it should, for its user alone, and no piece that is older than all of them', async () => {
    const first = site.backUp().made
    await site.archived()
    const before = readdirSync(site.wal).filter((name) => /^[0-9A-F]{24}$/.test(name))
    await site.moment()
    // Names are of a second.
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    const second = site.backUp({ KEEP: '1' })
    expect(second).toEqual({ made: expect.stringMatching(/Z$/), said: '' })
    expect(kept().map((name) => join(site.base, name))).toEqual([second.made])
    expect(second.made > first).toBe(true)
    expect(statSync(site.base).mode & 0o777).toBe(0o700)
    expect(statSync(second.made).mode & 0o077).toBe(0)
    expect(readdirSync(site.wal)).not.toContain(before[0])
  })

  test('tells the database, once that keeps it, and says when it cannot', () => {
    const migrations = join(import.meta.dirname, '../../control-plane/src/db/migrations')
    const migration = readFileSync(join(migrations, '202611291770_base_backup.sql'), 'utf8')
    const [table = ''] = /create table svc\.base_backup [^;]+;/.exec(migration) ?? []
    site.sql(`create schema svc; ${table}`)
    site.sql("insert into svc.base_backup (name, finished_at) values ('old', now() - interval '2 days')")
    const { made } = site.backUp()
    const seconds = "select name || ' ' || (now() - finished_at < interval '1 minute') from svc.base_backup"
    expect(site.sql(seconds)).toEqual([`${basename(made)} true`])
    site.sql("alter table svc.base_backup add check (name < '2') not valid")
    expect(site.backUp()).toEqual({
      made: '',
      said: expect.stringMatching(/Z is made, and the database was not told$/),
    })
  })

  test('leaves nothing half done and nothing removed where it fails', () => {
    const before = kept()
    const failed = site.backUp({ KEEP: '1', PGUSER: 'nobody-of-ours' })
    expect(failed).toEqual({ made: '', said: expect.stringContaining('nobody-of-ours') })
    expect(kept()).toEqual(before)
  })

  test('takes no copy that is not what the server sent', () => {
    const [name = ''] = kept()
    const version = join(site.base, name, 'global/pg_control')
    chmodSync(version, 0o600)
    writeFileSync(version, 'x', { flag: 'a' })
    const { status, said } = site.layOut(join(site.base, name), 'broken')
    expect([status, said]).toEqual([1, expect.stringContaining('pg_control')])
    expect(readdirSync(site.folder)).not.toContain('broken')
  })
})
