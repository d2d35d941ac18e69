import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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

/** A file whose second test fails, `times` times; of its first one each run leaves a line. */
function late(file: string, times: number, name = 'late') {
  const [runs, firsts] = [join(folder, `${name}.runs`), join(folder, `${name}.firsts`)]
  for (const one of [runs, firsts]) rmSync(one, { force: true })
  writeFileSync(
    join(folder, file),
    `import { appendFileSync, readFileSync } from 'node:fs'
    import { describe, expect, test } from 'vitest'
    describe('${name} (of whom?)', () => {
      test('first', () => appendFileSync('${firsts}', 'x'))
      test('second: 1 + 1', () => {
        appendFileSync('${runs}', 'x')
        expect(readFileSync('${runs}', 'utf8').length).toBeGreaterThan(${times})
      })
    })`,
  )
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

test('what is late once holds alone, and is named', () => {
  late(proof, 1, 'proof')
  late(ordinary, 1, 'ordinary')
  const { status, last, holding } = runAll()
  expect([status, last]).toEqual([0, '5 passed, 0 failed'])
  expect(holding.slice(0, 2).toSorted()).toEqual([
    `  ${proof} > proof (of whom?) > second: 1 + 1`,
    `  ${ordinary} > ordinary (of whom?) > second: 1 + 1`,
  ])
})

test('what fails alone has failed, whatever holds beside it', () => {
  late(proof, 1, 'proof')
  late(ordinary, 2, 'ordinary')
  const { status, last } = runAll()
  expect([status, last]).toEqual([1, '4 passed, 1 failed'])
})

test('a run in which anything else fails is judged once', () => {
  late(proof, 1, 'proof')
  late(ordinary, 0, 'ordinary')
  const broken = join(folder, 'tools/broken.test.ts')
  writeFileSync(broken, `import { expect, test } from 'vitest'\ntest('broken', () => expect(1).toBe(2))\n`)
  try {
    const { status, last } = runAll()
    expect([status, last]).toEqual([1, '4 passed, 2 failed'])
  } finally {
    rmSync(broken)
  }
})
