import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { pendingOf, readExtensions, readInterface, readPending } from '../../../tools/interface/documents.ts'
import { interfaceRows } from '../../../tools/interface/rows.ts'
import { routes } from '../../src/areas/index.ts'
import { root } from './layers/sources.ts'

const declared = routes.map(({ method, path }) => `${method} ${path}`)
const document = readInterface()
const extensions = readExtensions()
const pending = readPending()

test('the interface document is read whole', () => {
  expect(document).toHaveLength(507)
  expect(new Set(document).size).toBe(507)
})

test('no endpoint is declared twice', () => {
  expect(declared.filter((row, index) => declared.indexOf(row) !== index)).toEqual([])
})

test('what is served is in the interface document or a listed extension', () => {
  const known = [...document, ...extensions.map(({ row }) => row)]
  expect(declared.filter((row) => !known.includes(row))).toEqual([])
})

test('what the interface document has is served or listed as pending, never both', () => {
  expect(pending).toEqual(pendingOf(routes))
})

test('an extension is served, is not in the interface document, and says why it is needed', () => {
  expect(extensions.filter(({ row }) => !declared.includes(row) || document.includes(row))).toEqual([])
  expect(extensions.filter(({ reason }) => reason.length < 20)).toEqual([])
})

/** `docs/pending.txt` of a commit; undefined where there is none, or no git. */
function pendingAt(commit: string): string[] | undefined {
  try {
    const text = execFileSync('git', ['show', `${commit}:docs/pending.txt`], {
      cwd: root,
      encoding: 'utf8',
      stdio: 'pipe',
    })
    return text.split('\n').filter(Boolean)
  } catch {
    return undefined
  }
}

test('what is pending only shrinks', () => {
  for (const earlier of [pendingAt('HEAD'), pendingAt('HEAD^')]) {
    expect(pending.filter((row) => earlier && !earlier.includes(row))).toEqual([])
  }
})

test.each([
  ['| GET, POST | /a | x |', ['GET /a', 'POST /a']],
  ['| POST | /a/:id/x, /y, /z | x |', ['POST /a/:id/x', 'POST /a/:id/y', 'POST /a/:id/z']],
  ['| GET | /a, /a/:id, /a/b | x |', ['GET /a', 'GET /a/:id', 'GET /a/b']],
  ['| GET | /a/b, /b/c | x |', ['GET /a/b', 'GET /a/b/c']],
  ['All under `/x/:id`.\n\n| GET | /a/:b/c, /d | x |', ['GET /x/:id/a/:b/c', 'GET /x/:id/a/:b/d']],
  ['All under `/x`.\n\n## Next\n\n| GET | /a | x |', ['GET /a']],
  ['Also `GET {base_url}/health` and `PUT /a/:b`.', ['GET /health', 'PUT /a/:b']],
  ['| Method | Path |\n|---|---|\n| state | /a |', []],
])('a row is taken apart: %j', (markdown, rows) => {
  expect(interfaceRows(markdown)).toEqual(rows)
})
