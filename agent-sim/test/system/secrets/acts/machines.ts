import { isAdmitted } from '../../harness/peer.ts'
import { until } from '../../harness/until.ts'
import { type FleetProcess, startFleetProcess } from '../../../proofs/fleets.ts'
import { chosenToken } from '../canaries.ts'
import type { Stage } from '../stage.ts'
import type { Person } from './login.ts'

/** A program's key: made so that its answer is kept for a repetition, used, and replaced. */
export async function usesApiKeys(stage: Stage, admin: Person): Promise<string> {
  const { client, canaries } = stage
  const key = canaries.choose('Idempotency-Key', 'of an API key', chosenToken)
  const making = {
    body: { name: 'Export', scopes: ['devices:read'] },
    headers: { ...admin.bearer, 'Idempotency-Key': key },
  }
  const made = await client.want(201, 'POST', '/api-keys', making)
  await client.want(201, 'POST', '/api-keys', making)
  const first = canaries.shown('API key', 'that was replaced', String(made.json['key']))
  await client.want(200, 'GET', '/devices', { headers: { 'X-Api-KEY': first } })
  const rotated = await client.want(200, 'POST', `/api-keys/${String(made.json['id'])}/rotate`, {
    headers: admin.bearer,
  })
  return canaries.shown('API key', 'that is in use', String(rotated.json['key']))
}

/** A key that lets machines in, and one machine by hand; the token of that. */
export async function enrolls(stage: Stage, admin: Person): Promise<string> {
  const { client, canaries, system } = stage
  const { organizationId, siteId } = system.tenant
  const made = await client.want(201, 'POST', '/enrollment-keys', {
    body: { name: 'Roll-out', orgId: organizationId, siteId },
    headers: {
      ...admin.bearer,
      'Idempotency-Key': canaries.choose('Idempotency-Key', 'of an enrollment key', chosenToken),
    },
  })
  canaries.shown('enrollment key', 'that was replaced', String(made.json['key']))
  const rotated = await client.want(200, 'POST', `/enrollment-keys/${String(made.json['id'])}/rotate`, {
    headers: admin.bearer,
  })
  const enrollmentKey = canaries.shown('enrollment key', 'that is in use', String(rotated.json['key']))
  const enrolled = await client.want(201, 'POST', '/agents/enroll', { body: { ...machine, enrollmentKey } })
  return canaries.shown('device token', 'by hand', String(enrolled.json['deviceToken']))
}

export const machine = { hostname: 'by-hand', osType: 'linux', architecture: 'x64', agentVersion: '1.0.0' }

/** Agents in a process of their own, over both transports; each carries a command out. */
export async function agentsWork(stage: Stage, admin: Person): Promise<FleetProcess> {
  const { system, canaries, client } = stage
  const fleet = await startFleetProcess(system, 'fleet', 2, { '--transport': 'websocket=1,mqtt=1' })
  for (const { deviceId, deviceToken } of fleet.devices)
    canaries.shown('device token', `of ${deviceId}`, deviceToken)
  const commands = fleet.devices.map(async ({ deviceId }) => {
    const body = { type: 'run_script', payload: { interpreter: 'sh', content: 'echo done' } }
    const { json } = await client.want(201, 'POST', `/devices/${deviceId}/commands`, {
      body,
      headers: admin.bearer,
    })
    const path = `/devices/${deviceId}/commands/${String(json['id'])}?waitMs=10000`
    await until('the command has ended', async () => {
      const view = await client.want(200, 'GET', path, { headers: admin.bearer })
      return view.json['status'] === 'succeeded'
    })
  })
  await Promise.all(commands)
  return fleet
}

/** A machine comes in over either transport with the header in another case; then its device is given up, and it does not any more. */
export async function isTurnedAway(stage: Stage, admin: Person, token: string): Promise<void> {
  const { system, client } = stage
  const urls = [system.gatewayUrls[0] ?? '', system.mqttUrls[0] ?? '']
  for (const url of urls) if (!(await isAdmitted(url, token))) throw new Error(`${url} does not let it in`)
  const [row] = await system.sql<
    { id: string }[]
  >`select id from devices where hostname = ${machine.hostname}`
  await client.want(200, 'DELETE', `/devices/${row?.id}`, { headers: admin.bearer })
  await until('it is turned away', async () => !(await isAdmitted(urls[0] ?? '', token)), 10_000)
  if (await isAdmitted(urls[1] ?? '', token)) throw new Error('it is let in over MQTT')
}
