import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startChild } from '../../../tools/services/child.ts'
import { freePort, onFreePort } from '../../../tools/services/port.ts'

const command = '/usr/sbin/mosquitto'

/** Its version, as it says itself; undefined: it is not installed. */
export function mosquittoVersion(): string | undefined {
  const { stdout, error } = spawnSync(command, ['-h'], { encoding: 'utf8' })
  return error ? undefined : (/mosquitto version (\S+)/.exec(stdout)?.[1] ?? 'unknown')
}

export interface Mosquitto {
  pid: number
  port: number
  stop: () => Promise<void>
}

/** Starts one that keeps nothing and asks nobody for a password. */
export const startMosquitto = (folder: string, kind: 'mqtt' | 'mqtt-ws'): Promise<Mosquitto> =>
  onFreePort(undefined, async (port) => {
    const file = join(folder, `mosquitto-${port}.conf`)
    const settings = [
      `listener ${port} 127.0.0.1`,
      // It does not start with WebSockets alone.
      ...(kind === 'mqtt' ? [] : ['protocol websockets', `listener ${await freePort()} 127.0.0.1`]),
      'allow_anonymous true',
      'persistence false',
      'max_queued_messages 0',
      'connection_messages false',
      'log_dest stderr',
      'log_type error',
      'log_type information',
      'log_type notice',
      'user root',
    ]
    writeFileSync(file, `${settings.join('\n')}\n`)
    const child = await startChild({
      name: 'mosquitto',
      command,
      args: ['-c', file],
      env: { PATH: process.env['PATH'] },
      ready: /mosquitto version \S+ running/,
      readyWithinMs: 15_000,
      stopSignal: 'SIGTERM',
    })
    return { pid: child.pid, port, stop: () => child.kill() }
  })
