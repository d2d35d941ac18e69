import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compile, root } from './bundle.mjs'
import { flawsOf } from './log/lines.ts'

// Inside the repository, where programs find the packages that no bundle holds.
mkdirSync(join(root, '.svc'), { recursive: true })
const folder = mkdtempSync(join(root, '.svc/command-line-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs a program of ours, compiled: from its source each run would take seconds of a processor. */
function run(command: string, env: Record<string, string>) {
  const [source = '', ...args] = command.split(' ')
  const child = spawn(process.execPath, [join(folder, `${source}.mjs`), ...args], {
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

const refused: [command: string, code: number, line: string, env?: Record<string, string>][] = [
  ['bench/src/main.ts lits', 64, 'There is no bench lits: '],
  ['bench/src/main.ts start --quik', 64, 'Unknown option '],
  ['agent-sim/test/proofs/run.ts toString', 2, 'There is no proof toString: '],
  ['agent-sim/test/proofs/run.ts restore --plnt x', 2, 'Unknown option '],
  ['tools/release/main.ts buid', 1, 'There is no command buid: keys, build, publish'],
  ['tools/release/main.ts build --versoin 1', 1, 'Unknown option '],
  ['tools/platform-admin/main.ts --remov x', 1, 'Unknown option '],
  ['tools/platform-admin/main.ts x', 1, 'DATABASE_URL is not ', { DATABASE_URL: 'foo' }],
  ['tools/svc-admin/main.ts check', 1, 'No server is running on ', { SVC_DATA: '/nowhere' }],
  ['control-plane/src/admin.ts chek', 1, 'there is no command chek'],
  ['control-plane/src/admin.ts check --foo', 1, 'Unknown option '],
  ['control-plane/src/admin.ts check a b', 1, 'check takes no b'],
]

const helps = [
  'bench/src/main.ts',
  'agent-sim/test/proofs/run.ts',
  'control-plane/src/admin.ts check --help',
  'tools/svc-admin/main.ts --help',
]
const misused = 'edge-gateway/src/main.ts --workrs 2'

beforeAll(async () => {
  const commands = [...refused.map(([command]) => command), ...helps, misused]
  const sources = commands.map((command) => command.split(' ', 1)[0] ?? '')
  await compile(Object.fromEntries(sources.map((source) => [source, source])), folder)
})

test.concurrent.for(refused)(
  '%s is refused in one line',
  async ([command, code, line, env = {}], { expect }) => {
    const said = await run(command, env)
    expect(said.code, said.stderr).toBe(code)
    expect(said.stderr.startsWith(line), said.stderr).toBe(true)
    expect(said.stderr).toMatch(/^[^\n]+\n$/)
    expect(said.stdout).toBe('')
  },
)

test.concurrent.for(helps)('%s says what there is', async (command, { expect }) => {
  const { code, stdout, stderr } = await run(command, {})
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.split('\n').length).toBeGreaterThan(4)
})

test('a server that is misused says so in one line of its log', async () => {
  const { code, stdout, stderr } = await run(misused, {})
  expect({ code, stderr }).toEqual({ code: 78, stderr: '' })
  expect(flawsOf(stdout)).toEqual([])
  expect(JSON.parse(stdout)).toMatchObject({
    level: 'fatal',
    event: 'process.failed',
    msg: expect.stringMatching(/^Unknown option /),
  })
})
