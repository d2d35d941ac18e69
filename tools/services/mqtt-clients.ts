import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Debian's paho belongs to Debian's Python. */
const paho = '/usr/lib/python3/dist-packages/paho/mqtt/client.py'
const programs = ['mosquitto_pub', 'mosquitto_rr']

/** Whether the foreign MQTT clients that tests use are installed: mosquitto's on PATH, and paho for `/usr/bin/python3`. */
export function haveMqttClients(path = process.env['PATH'] ?? ''): boolean {
  const folders = path.split(delimiter).filter(Boolean)
  const isThere = (program: string) => folders.some((folder) => existsSync(join(folder, program)))
  return existsSync(paho) && programs.every(isThere)
}
