import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** No colours in files and pipes, whatever a program makes of its surroundings. */
const plain = process.stdout.isTTY || process.env['FORCE_COLOR'] ? {} : { NO_COLOR: '1' }

/** Runs an installed package's program in the root folder, showing what it prints; its exit code. */
export function run(program, args) {
  const file = join(root, 'node_modules/.bin', program)
  const { status, error } = spawnSync(file, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...plain },
    shell: process.platform === 'win32',
  })
  if (error) console.error(`${program}: ${error.message}`)
  return status ?? 1
}
