import type { Proposal } from '../engines/identity/rows.ts'
import type { Connection } from '../engines/work/deliver.ts'
import type { Item } from './item.ts'

const sha256Bytes = 32

/** What devices say that their next tokens will be, and on which connections; of each the last word. */
export function credentialsProposed(items: readonly Item[]): (Proposal & { from: Connection })[] {
  const byDevice = new Map<string, Proposal & { from: Connection }>()
  for (const { deviceId, epoch, node, up } of items) {
    const tokenSha256 = up.credentialProposal?.tokenSha256
    if (tokenSha256?.length !== sha256Bytes) continue
    byDevice.set(deviceId, { deviceId, epoch, tokenSha256, from: { deviceId, node, epoch } })
  }
  return [...byDevice.values()].sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
}
