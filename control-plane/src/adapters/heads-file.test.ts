import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { HeadsFileError, openHeadsFile } from './heads-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-heads-file-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('lines are added behind those that are there, also after one that a crash cut short or a file that was moved away', async () => {
  const file = await openHeadsFile(join(folder, 'a/b'))
  await file.append('1\n')
  appendFileSync(file.path, 'half')
  await file.append('2\n3\n')
  expect(readFileSync(file.path, 'utf8')).toBe('1\nhalf\n2\n3\n')
  expect(statSync(file.path).mode & 0o777).toBe(0o600)
  renameSync(file.path, `${file.path}.old`)
  await file.append('4\n')
  expect(readFileSync(file.path, 'utf8')).toBe('4\n')
})

test('a place that cannot be written is one line', async () => {
  writeFileSync(join(folder, 'file'), '')
  const opened = openHeadsFile(join(folder, 'file'))
  await expect(opened).rejects.toThrow(HeadsFileError)
  await expect(opened).rejects.toThrow(/^cannot write .*audit-heads\.jsonl \(AUDIT_HEADS_DIR\): .+$/)
})
