import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../../tools/bundle.mjs'
import { withProgram } from './needs.ts'

const scripts = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.sh'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter(Boolean)

withProgram('shellcheck', 'shellcheck', 'shell scripts', (shellcheck) => {
  test.each(scripts)('%s', (script) => {
    const found = spawnSync(shellcheck, [join(root, script)], { encoding: 'utf8' })
    expect(`${found.stdout}${found.stderr}`).toBe('')
  })

  test('a fault is found', () => {
    const input = '#!/bin/sh\nrm -rf $1/*\n'
    expect(spawnSync(shellcheck, ['-'], { input, encoding: 'utf8' }).status).toBe(1)
  })
})
