import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../../tools/bundle.mjs'

const page = readFileSync(join(root, 'docs/operations.md'), 'utf8')
const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)

/** Whether a path leads to something, which may be any of a folder. */
const isThere = (path: string) => {
  if (!path.includes('*')) return existsSync(path)
  const pattern = new RegExp(`^${basename(path).replaceAll('.', '\\.').replaceAll('*', '.*')}$`)
  return readdirSync(dirname(path)).some((name) => pattern.test(name))
}

test('every command of operations.md is one that a shell understands', () => {
  expect(blocks.length).toBeGreaterThan(6)
  for (const input of blocks) {
    const { status, stderr } = spawnSync('sh', ['-n'], { input, encoding: 'utf8' })
    expect(status, `${stderr}\n${input}`).toBe(0)
  }
})

test('every file that its commands name is there', () => {
  const named = blocks.flatMap((text) => text.match(/\b(?:infra|tools|control-plane\/src)\/[\w*./-]+/g) ?? [])
  expect(named.length).toBeGreaterThan(8)
  expect(named.filter((path) => !isThere(join(root, path.replace(/\/$/, ''))))).toEqual([])
})
