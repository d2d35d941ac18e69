import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundle } from '../bundle.mjs'
import { ensureInstalled } from '../install.mjs'
import { createProgress, silent } from '../progress.mjs'
import { help, parseSwitches, UsageError } from './switches.mjs'
import { watchAndRestart } from './watch.mjs'

/**
 * Begins a command with what Node alone offers: reads its switches, installs and builds what is missing, and hands
 * over to the built code. Never rejects; the exit code says how it went.
 * @param {'start' | 'demo' | 'token'} command
 */
export async function launch(command) {
  try {
    const options = parseSwitches(command, process.argv.slice(2))
    if (options.help) return console.log(help(command))
    if (options.watch) process.exit(await watchAndRestart(process.argv.slice(2)))
    const progress = command === 'token' || options.json ? silent : createProgress()
    await ensureInstalled()
    const folder = await bundle((build) => progress.step('built the program', build))
    const { run } = await import(pathToFileURL(join(folder, `${command}.mjs`)).href)
    // Whatever is left open must not keep a command alive that has ended everything.
    process.exit(await run(options, progress))
  } catch (error) {
    // A mistake of the user or of the environment is one line; only a fault of ours deserves its stack.
    console.error(error instanceof UsageError || error.expected ? error.message : error)
    process.exit(1)
  }
}
