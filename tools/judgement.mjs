/** Runs the tests, and judges once more, alone, what may have been late because others ran. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './run.mjs'
import { tally } from './tally.mjs'

/** More files than these are no matter of a machine that had too much to do. */
const mostAgain = 5

/** Runs vitest; its exit code, and what its reporter left (`vitest/tally.ts`). */
function tests(args) {
  const file = process.env['TEST_OUTCOME_FILE']
  rmSync(file, { force: true })
  const code = run('vitest', ['run', ...args])
  try {
    return { code, outcome: JSON.parse(readFileSync(file, 'utf8')) }
  } catch {
    return { code: code || 1, outcome: undefined }
  }
}

/** As vitest's `-t` matches them: a pattern over a test's name behind those of its groups. */
const exactly = (names) =>
  `^(${names.map((name) => name.replaceAll(' > ', ' ').replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})$`

/** Tests of a proof stand each for itself; those of other files may need what the ones before them left. */
const onlyThese = ({ file, tests }) => (file.includes('/test/proofs/') ? ['-t', exactly(tests)] : [])

/** Does what failed there hold when nothing else runs? */
function holdsAlone(one) {
  const { code, outcome } = tests(['--project', 'e2e', one.file, ...onlyThese(one)])
  return code === 0 && outcome.passed >= one.tests.length
}

const namesOf = (some) => some.flatMap((one) => one.tests.map((name) => `  ${one.file} > ${name}`)).join('\n')

/**
 * Tests of whole programs hold them to seconds. What failed of these while others ran on the same processors is judged again, alone; the
 * first failure stays in the log (docs/decisions/0033).
 */
function judgeAgain({ doubtful, passed, failed, skipped }) {
  console.log(`\nFailed while other tests ran, and judged again alone:\n${namesOf(doubtful)}`)
  const holding = doubtful.filter(holdsAlone)
  const held = holding.reduce((total, { tests }) => total + tests.length, 0)
  if (held > 0) console.log(`\nFailed while other tests ran, and hold alone:\n${namesOf(holding)}`)
  console.log(tally({ passed: passed + held, failed: failed - held, skipped }))
  return failed === held ? 0 : 1
}

/** Runs what vitest's arguments name, or everything; the exit code. The last line is the count. */
export function runTests(args) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'))
  process.env['TEST_OUTCOME_FILE'] = join(folder, 'outcome.json')
  try {
    return judge(args)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function judge(args) {
  const { code, outcome } = tests(args)
  const again = outcome?.doubtful ?? []
  const failures = again.reduce((total, { tests }) => total + tests.length, 0)
  const isAllDoubtful = failures > 0 && failures === outcome.failed
  if (code === 0 || args.length > 0 || !isAllDoubtful || again.length > mostAgain) return code
  return judgeAgain(outcome)
}
