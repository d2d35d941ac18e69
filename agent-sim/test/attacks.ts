import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto'
import { signCommand, svc } from '@svc/proto'
import { signed } from './signer.ts'

type Command = svc.v1.Command.$Properties

const stranger = generateKeyPairSync('ed25519')

/** A frame that no agent may obey, and what it does about it: disowns it, answers as it did before, or says that it has expired. */
export interface Attack {
  name: string
  command: Command
  answer: 'disowned' | 'again' | 'expired'
}

export interface Captured {
  /** a command of the device itself, which it has carried out */
  own: Command
  /** one that was signed for another device */
  others: Command
  /** signs as the control plane does */
  sign: (body: Uint8Array) => Command
}

const bodyOf = ({ body }: Command) => svc.v1.CommandBody.decode(body ?? new Uint8Array())
const bytesOf = (body: svc.v1.CommandBody) => svc.v1.CommandBody.encode(body).finish()

/**
 * What somebody can send a device who reads and writes all frames, but has no signing key.
 * @param args of the script that the attacker wants to have run
 */
export function attacksOn(deviceId: string, args: object, { own, others, sign }: Captured): Attack[] {
  const payload = Buffer.from(JSON.stringify(args))
  const keyId = own.keyId ?? ''
  const body = signed({ deviceId, args }).command.body ?? new Uint8Array()
  const strangers = { ...own, body, signature: signCommand(body, stranger.privateKey), keyId: 'nobody' }
  const changed = bodyOf(own)
  changed.args = payload
  changed.argsSha256 = createHash('sha256').update(payload).digest()
  const renamed = bodyOf(own)
  renamed.commandId = randomUUID()
  const longer = bodyOf(own)
  longer.commandId = randomUUID()
  longer.expiresAtMs += 86_400_000
  const redirected = bodyOf(others)
  redirected.deviceId = deviceId
  const late = signed({ deviceId, args, notBeforeMs: Date.now() - 60_000, expiresAtMs: Date.now() - 5_000 })
  const disowned: [string, Command][] = [
    ['signed with a key that nobody knows', strangers],
    ['signed by a stranger in the name of a real key', { ...strangers, keyId }],
    ['not signed', { ...strangers, keyId, signature: new Uint8Array() }],
    ['with the signature of another command', { ...strangers, keyId, signature: own.signature ?? null }],
    ['with a real signature and another payload', { ...own, body: bytesOf(changed) }],
    ['with a real signature and another id', { ...own, body: bytesOf(renamed) }],
    ['with a real signature and another expiry', { ...own, body: bytesOf(longer) }],
    ['with a real signature under another key’s name', { ...own, keyId: 'nobody' }],
    ['signed for another device', others],
    ['signed for another device and redirected', { ...others, body: bytesOf(redirected) }],
    ['that is no command', { ...own, body: Buffer.from([0xff, 0xff, 0xff]) }],
    ['that is empty', {}],
  ]
  return [
    ...disowned.map(([name, command]): Attack => ({ name, command, answer: 'disowned' })),
    { name: 'that was carried out before', command: own, answer: 'again' },
    { name: 'that has expired', command: sign(late.command.body ?? new Uint8Array()), answer: 'expired' },
  ]
}

/** How often each answer is the right one. */
export const answersTo = (attacks: readonly Attack[]): Record<Attack['answer'], number> => {
  const count = (answer: Attack['answer']) => attacks.filter((attack) => attack.answer === answer).length
  return { disowned: count('disowned'), again: count('again'), expired: count('expired') }
}
