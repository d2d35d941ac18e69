import { codes, otpauthUrl } from '../token/login.ts'
import type { Addresses, Admin } from './data-folder.ts'

/** Rows of a name and what belongs to it, in two columns. */
const columns = (rows: readonly (readonly [string, string])[]) =>
  rows.map(([name, value]) => `  ${name.padEnd(14)}${value}`)

/** The administrator's credentials, with the code of this moment and the one after it. */
export function describeAdmin(admin: Admin, nowMs = Date.now()): string[] {
  const { now, next, nextAtMs } = codes(admin.totpSecret, nowMs)
  const at = new Date(nextAtMs).toTimeString().slice(0, 8)
  return columns([
    ['e-mail', admin.email],
    ['password', admin.password],
    ['second factor', otpauthUrl(admin)],
    ['code now', `${now}, from ${at} on ${next}; each is good once, so one just used is refused`],
  ])
}

export interface Summary {
  addresses: Addresses
  metrics: { controlPlane: string; gateway: string }
  data: string
  /** shown at the first start, or when asked for */
  admin: Admin | undefined
  /** a device that is connected: this machine, or else a simulated one */
  deviceId: string | undefined
  /** switches that `npm run token` needs to find this server */
  tokenSwitches: string
}

/** What a person needs to know once everything is up. */
export function describe({ addresses, metrics, data, admin, deviceId, tokenSwitches }: Summary): string[] {
  const where = columns([
    ['API', `${addresses.api}/api/v1`],
    ['', `described at ${addresses.api}/docs`],
    ['gateway', `${addresses.gateway}/agent`],
    ['MQTT 3.1.1', addresses.mqtt.join('  ')],
    ['', 'a device’s id is client id and user name, its token lets it in; topics d/{id}/up and d/{id}/down'],
    ['metrics', `${metrics.controlPlane} of the control plane`],
    ['', `${metrics.gateway} of the gateway`],
    ['data, logs', data],
  ])
  const who = admin ? describeAdmin(admin) : columns([['administrator', 'npm start -- --show-admin']])
  const commands = curlLines(addresses.api, `$(npm run -s token${tokenSwitches})`, deviceId).map(
    (line) => `  ${line}`,
  )
  return [
    '         ready',
    '',
    ...where,
    '',
    ...who,
    '',
    `  Try, in this folder: its health, three devices${deviceId ? ', and, with the last two lines together, what runs on one of them' : ''}:`,
    '',
    ...commands,
    '',
    '  Ctrl-C ends everything.',
    '',
  ]
}

/** Commands that work as they are printed: health, the devices, and (two lines, to be pasted together) processes of one. */
export function curlLines(api: string, token: string, deviceId: string | undefined): string[] {
  const list = `curl -sS -H "authorization: Bearer ${token}" '${api}/api/v1/devices?limit=3'; echo`
  const health = `curl -sS ${api}/health; echo`
  if (!deviceId) return [health, list]
  const order = `-H 'content-type: application/json' -d '{"type":"list_processes","payload":{"limit":5}}'`
  return [
    health,
    list,
    `H="authorization: Bearer ${token}"; U=${api}/api/v1/devices/${deviceId}/commands`,
    `curl -sS -H "$H" "$U/$(curl -sS -H "$H" ${order} $U | cut -d'"' -f4)?waitMs=20000"; echo`,
  ]
}
