import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { agentFile } from './agent-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-agent-file-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('the agent is one file that runs by itself and says its version; made twice it is the same', async () => {
  const [bytes, again] = [await agentFile('9.8.7'), await agentFile('9.8.7')]
  expect(Buffer.compare(bytes, again)).toBe(0)
  const file = join(folder, 'svc-agent')
  writeFileSync(file, bytes, { mode: 0o755 })
  expect(execFileSync(file, ['--version'], { encoding: 'utf8', cwd: folder }).trim()).toBe('9.8.7')
})
