import { randomUUID } from 'node:crypto'
import { v7 as uuid } from 'uuid'

/** An entry as a change of a device leaves one, of one chain after the other. */
export const entryOf = (chains: readonly string[], number: number): object => ({
  id: uuid(),
  at: new Date().toISOString(),
  partner_id: chains[number % chains.length],
  org_id: randomUUID(),
  actor_type: 'user',
  actor_id: randomUUID(),
  actor_email: 'someone@msp.example',
  action: 'device.update',
  resource_type: 'device',
  resource_id: randomUUID(),
  resource_name: `host-${number}`,
  result: 'success',
  details: { from: 'v1', to: 'v2', note: 'routine' },
  ip: '192.0.2.7',
  user_agent: 'Mozilla/5.0',
  request_id: randomUUID(),
})
