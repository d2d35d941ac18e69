import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { svc } from '@svc/proto'
import type { LedgerStep } from './evidence.ts'

interface Line {
  state: string
  id: string
  body?: string
}

/**
 * The lines of the ledger in a folder. A line is a sum of eight digits, a space, and JSON; one that cannot be read is one that is being
 * written, or that a crash cut short.
 */
export function ledgerLines(folder: string): Line[] {
  const file = join(folder, 'ledger.jsonl')
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line.slice(9)) as Line]
    } catch {
      return []
    }
  })
}

/** All ledgers that the devices of a fleet keep in its folder, those of `wanted` devices only where some are named. */
export function fleetLedgers(folder: string, wanted?: ReadonlySet<string>): LedgerStep[] {
  const devices = join(folder, 'devices')
  const ids = existsSync(devices) ? readdirSync(devices) : []
  return ids
    .filter((id) => wanted?.has(id) ?? true)
    .flatMap((deviceId) => ledgerLines(join(devices, deviceId)).map((line) => stepOf(deviceId, line)))
}

/** The ledger of the one device whose folder it is. */
export const hostLedger = (folder: string, deviceId: string): LedgerStep[] =>
  ledgerLines(folder).map((line) => stepOf(deviceId, line))

function stepOf(deviceId: string, { id, state, body }: Line): LedgerStep {
  const step = { deviceId, commandId: id, state }
  if (!body) return step
  const order = svc.v1.CommandBody.decode(Buffer.from(body, 'base64'))
  return { ...step, order: { deviceId: order.deviceId, orgId: order.orgId } }
}
