import { createHash, generateKeyPairSync } from 'node:crypto'
import { randomUUID } from 'node:crypto'
import { signCommand, svc } from '@svc/proto'
import type { SigningKey } from '../src/commands/key-ring.ts'

/** Of the control plane that agents know by {@link signingKeys}. */
export const signingPair = generateKeyPairSync('ed25519')

/** What enrollment would tell the agent. */
export const signingKeys: SigningKey[] = [
  {
    keyId: 'key-1',
    publicKey: Buffer.from(String(signingPair.publicKey.export({ format: 'jwk' }).x), 'base64url').toString(
      'base64',
    ),
  },
]

export interface Order extends Partial<Omit<svc.v1.CommandBody.$Properties, 'args'>> {
  deviceId: string
  args?: unknown
  now?: number
}

/** A command as the control plane signs it; whatever is given replaces what would be right. */
export function signed(
  { args = {}, now = Date.now(), ...given }: Order,
  frame: svc.v1.Command.$Properties = {},
) {
  const json = Buffer.from(JSON.stringify(args))
  const commandId = given.commandId ?? randomUUID()
  const body = svc.v1.CommandBody.encode({
    commandId,
    type: 'run_script',
    orgId: randomUUID(),
    args: json,
    argsSha256: createHash('sha256').update(json).digest(),
    notBeforeMs: now - 1000,
    expiresAtMs: now + 600_000,
    timeoutMs: 30_000,
    issuedBy: 'system',
    lane: 'work',
    ...given,
  }).finish()
  const command = {
    body,
    signature: signCommand(body, signingPair.privateKey),
    keyId: 'key-1',
    attempt: 1,
    ...frame,
  }
  return { commandId, command }
}
