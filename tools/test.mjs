/** `npm test [-- vitest arguments]`: installs what is missing, then runs every test project. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureInstalled, requireNode } from './install.mjs'
import { run } from './run.mjs'

/** More files than these are no matter of a machine that had too much to do. */
const mostAgain = 5

const folder = mkdtempSync(join(tmpdir(), 'svc-test-'))
const file = join(folder, 'outcome.json')

/** Runs vitest; its exit code, and what its reporter left (`vitest/tally.ts`). */
function tests(args) {
  rmSync(file, { force: true })
  process.env['TEST_OUTCOME_FILE'] = file
  const code = run('vitest', ['run', ...args])
  try {
    return { code, outcome: JSON.parse(readFileSync(file, 'utf8')) }
  } catch {
    return { code: code || 1, outcome: undefined }
  }
}

const sum = (counts, key) => counts.reduce((total, one) => total + one[key], 0)

/**
 * Tests of whole programs hold them to seconds. What failed of these while others ran on the same processors is judged again, alone; the
 * first failure stays in the log (docs/decisions/0033).
 */
function judgeAgain({ doubtful, ...first }) {
  const names = doubtful.flatMap((one) => one.tests.map((test) => `  ${one.file} > ${test}`))
  console.log(`\nFailed while other tests ran; their files run again, alone:\n${names.join('\n')}\n`)
  const files = doubtful.map((one) => one.file)
  const { code, outcome } = tests(['--project', 'e2e', '--no-file-parallelism', ...files])
  if (!outcome) return code
  const of = (key) => first[key] - sum(doubtful, key) + outcome[key]
  if (code === 0) console.log(`\nThese failed while other tests ran, and hold alone:\n${names.join('\n')}`)
  const skipped = of('skipped')
  console.log(`${of('passed')} passed, ${of('failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  return code
}

function all(args) {
  const { code, outcome } = tests(args)
  const again = outcome?.doubtful ?? []
  const isAllDoubtful = again.length > 0 && sum(again, 'failed') === outcome.failed
  if (code === 0 || args.length > 0 || !isAllDoubtful || again.length > mostAgain) return code
  return judgeAgain(outcome)
}

requireNode()
await ensureInstalled()
try {
  process.exitCode = all(process.argv.slice(2))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
