import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = dirname(import.meta.dirname)
const proof = 'agent-sim/test/proofs/late.e2e.test.ts'
const ordinary = 'tools/late.e2e.test.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-test-'))
  for (const name of ['tools', 'vitest.config.ts', 'package.json', 'package-lock.json'])
    cpSync(join(root, name), join(folder, name), {
      recursive: true,
      filter: (path) => !path.endsWith('.test.ts'),
    })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const file of [proof, ordinary]) mkdirSync(dirname(join(folder, file)), { recursive: true })
  writeFileSync(
    join(folder, 'tools/holds.test.ts'),
    `import { test } from 'vitest'\ntest('holds', () => {})\n`,
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A file of two tests, of which the second fails so many times. @returns how often each of them ran */
function late(file: string, name: string, times: number): () => number[] {
  const marks = ['first', 'second'].map((which) => join(folder, `${name}.${which}`))
  for (const mark of marks) writeFileSync(mark, '')
  const [first, second] = marks
  writeFileSync(
    join(folder, file),
    `import { appendFileSync, readFileSync } from 'node:fs'
    import { describe, expect, test } from 'vitest'
    describe('${name} (of whom?)', () => {
      test('first', () => appendFileSync('${first}', 'x'))
      test('second: 1 + 1', () => {
        appendFileSync('${second}', 'x')
        expect(readFileSync('${second}', 'utf8').length).toBeGreaterThan(${times})
      })
    })`,
  )
  return () => marks.map((mark) => readFileSync(mark, 'utf8').length)
}

const all = `import { runTests } from './tools/judgement.mjs'; process.exitCode = runTests([])`

/** As `npm test` does it, in a repository of these tests alone. */
function runAll() {
  const { VITEST: _inside, NODE_OPTIONS: _options, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', all], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...env, CI: '1', NO_COLOR: '1' },
  })
  if (!stdout) throw new Error(stderr)
  const lines = stdout.trimEnd().split('\n')
  return { status, last: lines.at(-1), holding: stdout.split('and hold alone:\n')[1]?.split('\n') ?? [] }
}

test('what is late once holds alone, and is named: a test of a proof by itself, another with its file', () => {
  const ofProof = late(proof, 'proof', 1)
  const ofOrdinary = late(ordinary, 'ordinary', 1)
  const { status, last, holding } = runAll()
  expect([status, last]).toEqual([0, '5 passed, 0 failed'])
  expect(holding.slice(0, 2).toSorted()).toEqual([
    `  ${proof} > proof (of whom?) > second: 1 + 1`,
    `  ${ordinary} > ordinary (of whom?) > second: 1 + 1`,
  ])
  expect([ofProof(), ofOrdinary()]).toEqual([
    [1, 2],
    [2, 2],
  ])
})

test('what fails alone has failed, whatever holds beside it', () => {
  late(proof, 'proof', 1)
  late(ordinary, 'ordinary', 2)
  const { status, last } = runAll()
  expect([status, last]).toEqual([1, '4 passed, 1 failed'])
})

test('a run in which anything else fails is judged once', () => {
  const ofProof = late(proof, 'proof', 1)
  late(ordinary, 'ordinary', 0)
  const broken = join(folder, 'tools/broken.test.ts')
  writeFileSync(broken, `import { expect, test } from 'vitest'\ntest('broken', () => expect(1).toBe(2))\n`)
  try {
    const { status, last } = runAll()
    expect([status, last]).toEqual([1, '4 passed, 2 failed'])
    expect(ofProof()).toEqual([1, 1])
  } finally {
    rmSync(broken)
  }
})
