import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { identify, isAlive, removeAbandoned } from './abandoned.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-abandoned-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const dead = spawnSync(process.execPath, ['-e', '']).pid

test('a process is told from one that is gone', () => {
  expect(isAlive(process.pid)).toBe(true)
  expect(isAlive(1)).toBe(true)
  expect(isAlive(dead)).toBe(false)
  expect(identify(dead)).toBeUndefined()
  expect(identify(process.pid)).toBe(identify(process.pid))
})

test.runIf(process.platform === 'linux')(
  'one that has ended is gone, also while nobody takes note of it',
  async () => {
    const careless = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 30'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void careless.kill('SIGKILL'))
    const [said] = (await once(careless.stdout, 'data')) as [Buffer]
    const ended = Number(said.toString())
    await expect.poll(() => isAlive(ended)).toBe(false)
    expect(process.kill(ended, 0)).toBe(true)
    expect(identify(ended)).toBeUndefined()
  },
)

test('only folders of processes that are gone are removed', () => {
  const keep = [`work-${process.pid}`, 'work-', 'work-12x', 'other-1', `x-work-${dead}`]
  for (const name of [...keep, `work-${dead}`]) mkdirSync(join(folder, name))
  removeAbandoned(join(folder, 'work-'))
  expect(readdirSync(folder).sort()).toEqual(keep.sort())
})
