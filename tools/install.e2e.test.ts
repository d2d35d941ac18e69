import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { install } from './install.mjs'
import { createProgress } from './progress.mjs'

let folder = ''
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'svc-npm-ci-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const write = (file: string, content: object) => writeFileSync(join(folder, file), JSON.stringify(content))

/** A package whose installation needs no network, and how the lock knows it. */
function make(scripts: Record<string, string>, locked: object = {}): void {
  write('package.json', { name: 'it', version: '1.0.0', scripts })
  write('package-lock.json', {
    name: 'it',
    version: '1.0.0',
    lockfileVersion: 3,
    packages: { '': { name: 'it', version: '1.0.0' }, ...locked },
  })
}

test('whoever waits for npm is told so, and when it is done', async () => {
  make({ postinstall: 'sleep 2' })
  const lines: string[] = []
  await install(
    folder,
    createProgress((line) => lines.push(line)),
  )
  expect(lines[0]).toBe('      …  installing packages (npm ci): 0 of 0')
  expect(lines.at(-1)).toMatch(/^ +\d+\.\d s {2}installed 0 packages$/)
})

test('where npm fails it is npm that says why', async () => {
  make({ postinstall: 'echo the disk is full >&2; exit 3' })
  const failed = install(
    folder,
    createProgress(() => undefined),
  )
  await expect(failed).rejects.toThrow(/^npm ci failed: code 3\n[^]*the disk is full/)
})
