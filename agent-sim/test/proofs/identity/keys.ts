import { randomBytes } from 'node:crypto'
import { deviceKey, type KeyProof, proofText, signProof, svc, tokenHash } from '@svc/proto'
import { dial, isAdmitted } from '../../system/harness/peer.ts'
import { none, type Row } from '../verdict.ts'
import { type Bare, enrollAt, type Place } from './world.ts'

/** What a gateway says to who shows this: `welcome`, or the reason of the refusal. */
async function answerTo(url: string, token: string, proof?: KeyProof): Promise<string> {
  const peer = await dial(url, token)
  if (typeof peer === 'number') return String(peer)
  const answer = await peer.greet(proof && { proof })
  peer.drop()
  if (answer?.welcome) return 'welcome'
  return svc.v1.CloseReason[answer?.refused?.reason ?? 0] ?? 'nothing'
}

/** A device whose token was stolen, and its key not. */
export async function keys(place: Place): Promise<Row[]> {
  const [mine, others] = [deviceKey(randomBytes(32)), deviceKey(randomBytes(32))]
  const enroll = ({ publicKey }: typeof mine) =>
    enrollAt(place, place.home, { publicKey: publicKey.toString('base64') })
  const [device, other] = await Promise.all([enroll(mine), enroll(others)])
  const [first = '', second = ''] = place.system.gatewayUrls
  const nowUs = () => Date.now() * 1000
  const proofOf = ({ deviceId, deviceToken }: Bare, key: typeof mine, atUs = nowUs()) =>
    signProof({ deviceId, tokenSha256: tokenHash(deviceToken), atUs }, key.key)
  const token = device.deviceToken
  const good = proofOf(device, mine)
  const seen: [what: string, seen: string, expected: string][] = []
  const look = async (what: string, expected: string, url: string, proof?: KeyProof) =>
    void seen.push([what, await answerTo(url, token, proof), expected])
  await look('the token alone', 'CREDENTIAL_INVALID', first)
  await look('a proof of another key', 'CREDENTIAL_INVALID', first, proofOf(device, others))
  await look('another device’s proof', 'CREDENTIAL_INVALID', second, proofOf(other, others))
  await look('a proof for another device by this key', 'CREDENTIAL_INVALID', second, proofOf(other, mine))
  await look('a proof of ten minutes ago', 'PROOF_STALE', first, proofOf(device, mine, nowUs() - 600_000_000))
  await look('a proof of next hour', 'PROOF_STALE', first, proofOf(device, mine, nowUs() + 3_600_000_000))
  await look('a good proof', 'welcome', first, good)
  await look('the same again', 'PROOF_STALE', first, good)
  await look('the same at another gateway', 'PROOF_STALE', second, good)
  await look('a proof with another time on it', 'CREDENTIAL_INVALID', second, {
    ...good,
    atUs: good.atUs + 1,
  })
  await look('the next good proof', 'welcome', second, proofOf(device, mine))
  const mqtt = place.system.mqttUrls[0] ?? ''
  const password = `${token}.${proofText(proofOf(device, mine))}`
  const overMqtt = [await isAdmitted(mqtt, token), await isAdmittedAs(mqtt, device, password)]
  seen.push(['over MQTT: alone, with a proof', overMqtt.join(), 'false,true'])
  return [
    none(
      'answers to who has the token, by what else they have',
      seen.flatMap(([what, was, expected]) => (was === expected ? [] : [`${what}: ${was}, not ${expected}`])),
    ),
  ]
}

async function isAdmittedAs(url: string, { deviceId }: Bare, password: string): Promise<boolean> {
  const { connectAsync } = await import('mqtt')
  const login = { clientId: deviceId, username: deviceId, password, protocolVersion: 4 as const }
  return connectAsync(url, { ...login, reconnectPeriod: 0 }).then(
    (client) => {
      client.end(true)
      return true
    },
    () => false,
  )
}
