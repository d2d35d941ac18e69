import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { findRedisServer } from '../../tools/services.ts'
import type { ResultFile } from './method/contract.ts'

const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'svc-bench-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** As `npm run bench` runs it. */
function bench(args: string[], env: Record<string, string> = {}) {
  const child = spawn(join(root, 'node_modules/.bin/tsx'), ['bench/src/main.ts', ...args], {
    cwd: root,
    env: { ...process.env, ...env },
  })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  return new Promise<typeof said & { code: number | null }>((resolve) =>
    child.once('close', (code) => resolve({ ...said, code })),
  )
}

const small = ['--quick', '--rounds', '1', '--scale', '50']

describe.skipIf(!findRedisServer())('a bench', () => {
  test('leaves a whole result behind, the same as it prints', async () => {
    const out = join(folder, 'fanout.json')
    const { code, stdout, stderr } = await bench(['fanout', ...small, '--json', '--out', out])
    expect(code, stderr).toBe(0)
    const result = JSON.parse(readFileSync(out, 'utf8')) as ResultFile
    expect(JSON.parse(stdout)).toEqual(result)
    expect(result).toMatchObject({
      format: 1,
      bench: 'fanout',
      quick: true,
      measures: [
        { name: 'CPU per delivery', unit: 'CPU-µs' },
        { name: 'deliveries per second', unit: 'per second' },
      ],
    })
    expect(result.commit).toMatch(/^[0-9a-f]{12}\+?$|^unknown$/)
    const skipped = new Set(result.peers.filter((peer) => peer.skipped).map(({ name }) => name))
    const wanted = ['ours', 'aedes', 'mosquitto']
    expect(result.rounds.map(({ side }) => side).toSorted()).toEqual(
      wanted.filter((side) => !skipped.has(side)).toSorted(),
    )
    for (const { seen } of result.rounds)
      expect(seen).toEqual({
        'CPU per delivery': expect.any(Number),
        'deliveries per second': expect.any(Number),
      })
  })

  test('fails and prints no figure when its agents are refused', async () => {
    const out = join(folder, 'refused.json')
    const env = { NODE_ENV: 'test', SVC_TEST_WITHOUT: 'bench_tokens' }
    const { code, stdout, stderr } = await bench(['fanout', ...small, '--out', out], env)
    expect([code, stdout, existsSync(out)], stderr).toEqual([1, '', false])
    expect(stderr).toMatch(/ours: \d+ connections: .*(refused|credential invalid)/)
  })
})
