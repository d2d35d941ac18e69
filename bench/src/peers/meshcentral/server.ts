import { createRequire } from 'node:module'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { serveCalls } from '../../wire/serve.ts'
import { freePort } from '../../../../tools/services/port.ts'
import { meshcentralArguments, meshcentralEnvironment } from './data.ts'

/** MeshCentral in this process, as its own launcher would run it in a child: what is measured is the server and nothing else. */
serveCalls({
  listen: async ({ installed, data }: { installed: string; data: string }) => {
    process.env = { ...meshcentralEnvironment(data) }
    const port = await freePort()
    const program = join(installed, 'node_modules/meshcentral/meshcentral.js')
    process.argv = [process.execPath, program, ...meshcentralArguments(data), '--port', String(port)]
    process.argv.push('--launch', String(process.ppid))
    const { mainStart } = createRequire(program)(program) as { mainStart: () => void }
    mainStart()
    await listening(port)
    return port
  },
})

/** It makes its keys first, when there are none yet. */
const withinMs = 120_000
const lookEveryMs = 100

async function listening(port: number): Promise<void> {
  for (const end = performance.now() + withinMs; !(await accepts(port)); await pause(lookEveryMs))
    if (performance.now() > end) throw new Error(`nobody listens after ${withinMs / 1000} s`)
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    const answer = (value: boolean) => {
      socket.destroy()
      resolve(value)
    }
    socket.once('connect', () => answer(true)).once('error', () => answer(false))
  })
