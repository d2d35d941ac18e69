import { setTimeout as sleep } from 'node:timers/promises'
import { deviceIdOf, encodeBody, maxFrameBytes, svc, withSeq } from '@svc/proto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSigningKeys } from '../../../control-plane/src/adapters/signing-keys.ts'
import { signed } from '../signer.ts'
import { Api, type ErrorBody } from './harness/api.ts'
import { type Crowd, mixed, startCrowd } from './harness/crowd.ts'
import { type Accepted, commandRows, faultsOf } from './harness/judge.ts'
import { byHand, type Hand } from './harness/hand.ts'
import { dial, type Peer } from './harness/peer.ts'
import { startSystem, type System } from './harness/system.ts'
import { systemTests } from './harness/suite.ts'
import { numbers } from './harness/numbers.ts'
import { until, untilClean } from './harness/until.ts'
import { tap, type Wiretap } from './harness/wiretap.ts'

const facts = { hostname: 'stranger', osType: 'linux', architecture: 'amd64', agentVersion: '0.0.0' }

systemTests('what strangers and bad peers can do', () => {
  let system: System
  let api: Api
  let crowd: Crowd
  let wire: Wiretap

  beforeAll(async () => {
    system = await startSystem()
    api = await system.admin()
    crowd = await startCrowd(system, { agents: 20, name: 'crowd', transports: mixed })
    wire = await tap(system.redis.url, system.nodeOf(0))
  })
  afterAll(async () => {
    wire?.close()
    await crowd?.fleet.kill()
    await system?.close()
  })

  test('a command that is forged, for another device or said again on the bus is not carried out', async () => {
    const [target = '', other = ''] = crowd.ids
    const disowned = () =>
      crowd.events.filter((one) => one.number === crowd.number(target) && one.kind === 'disowned')
    const content = 'echo mine\nsleep 3'
    const id = await api.send(other, 'run_script', { interpreter: 'sh', content })
    const accepted: Accepted[] = [{ id, deviceId: other, stdout: 'mine\n' }]
    const judge = async () => faultsOf(accepted, await commandRows(system.sql), crowd.executions())
    const find = () => wire.commands.find(({ deviceId }) => deviceId === other)
    await until('the real command went by', () => find() !== undefined)
    const real = find()?.command ?? {}
    const args = { interpreter: 'sh', content: 'echo stolen', args: [], timeoutSeconds: 10 }
    const altered = svc.v1.CommandBody.decode(real.body ?? new Uint8Array())
    altered.deviceId = target

    const attacks: svc.v1.ICommand[] = [
      signed({ deviceId: target, args }).command, // a key that nobody knows
      signed({ deviceId: target, args }, { keyId: real.keyId ?? '' }).command, // the name of a real key
      { ...real, body: svc.v1.CommandBody.encode(altered).finish() }, // a real signature, of something else
      { ...signed({ deviceId: target, args }).command, signature: new Uint8Array(), keyId: real.keyId ?? '' },
      real, // what was signed for another device, while that one is running it
    ]
    for (const command of attacks) await wire.deliver(target, { command })
    await until('all are disowned', () => disowned().length === attacks.length)
    expect(await api.ended(other, id)).toMatchObject({ status: 'succeeded' })
    for (let again = 0; again < 3; again++) await wire.deliver(other, { command: real })
    const said = () =>
      crowd.events.filter((one) => one.kind === 'command' && one.id === id && one.duplicate).length
    await until('it was offered again', () => said() === 3)
    await sleep(numbers.heartbeatMs)
    expect(await judge()).toEqual([])

    // Whoever has the key of the control plane is obeyed: the way that the forgeries took does lead to the agent.
    const keys = openSigningKeys(system.keysDir)
    const { commandId, command } = signed({ deviceId: target, args })
    await wire.deliver(target, { command: { ...command, ...keys.sign(command.body ?? new Uint8Array()) } })
    await untilClean('it ran', async () =>
      (await judge()).includes(`command ${commandId} ran and nobody had asked for it`)
        ? []
        : ['it did not run'],
    )
  })

  test('whatever one connection says costs nobody else anything', async () => {
    const before = crowd.epochs()
    const events = crowd.events.length
    expect(before.size).toBe(crowd.ids.length)
    const spoil = async (say: (peer: Peer) => void, greeted = true) => {
      const peer = await dial(system.gatewayUrls[0] ?? '', await newToken())
      if (typeof peer === 'number') throw new Error(`turned away with ${peer}`)
      if (greeted) expect((await peer.greet())?.welcome).toBeTruthy()
      say(peer)
      return peer.closed
    }
    const unknownKind = Uint8Array.of(0xa2, 0x06, 0x00) // field 100, empty
    const heartbeat = encodeBody({ heartbeat: { loggedInUser: 'x'.repeat(20_000) } })
    const codes = {
      malformed: await spoil((peer) => peer.send(Uint8Array.of(0xff, 0xff, 0xff))),
      'unknown kind': await spoil((peer) => peer.send(withSeq(2, unknownKind))),
      'oversized heartbeat': await spoil((peer) => peer.send(withSeq(2, heartbeat))),
      'wrong direction': await spoil((peer) => peer.send(withSeq(2, encodeBody({ move: { afterMs: 1 } })))),
      'no hello': await spoil((peer) => peer.send(withSeq(1, encodeBody({ heartbeat: {} }))), false),
      'oversized hello': await spoil((peer) => peer.send(new Uint8Array(20_000)), false),
      'larger than any frame': await spoil((peer) => peer.send(new Uint8Array(maxFrameBytes + 1))),
    }
    expect(codes).toEqual({
      malformed: 4009,
      'unknown kind': 4010,
      'oversized heartbeat': 4011,
      'wrong direction': 4012,
      'no hello': 4012,
      'oversized hello': 4011,
      'larger than any frame': 4011,
    })
    await spoilOverMqtt(crowd.ids[0] ?? '')
    await sleep(2 * numbers.heartbeatMs)
    const since = crowd.events.slice(events)
    expect(crowd.epochs()).toEqual(before)
    expect(since.filter(({ kind }) => kind === 'disconnected')).toEqual([])
    expect(new Set(since.filter(({ kind }) => kind === 'beat-acked').map(({ number }) => number)).size).toBe(
      20,
    )
    const noticing = crowd.fleet.agents.find(({ number }) => number === 4)
    noticing?.agent.kill() // one that does notice something is missed
    await until(
      'it is missed',
      async () =>
        (
          await system.sql`select from device_presence where device_id = ${crowd.ids[3] ?? ''} and node is null`
        ).length > 0,
    )
  })

  /** The same, and what MQTT adds to it: each ends the connection that said it, with the reason where it may still be heard. */
  const spoilOverMqtt = async (victim: string) => {
    const spoil = async (act: (hand: Hand, topic: string) => unknown) => {
      const token = await newToken()
      const hand = await byHand(system.mqttUrls[0] ?? '', token)
      await hand.frame('welcome')
      await act(hand, `d/${deviceIdOf(token)}/up`)
      await hand.closed
      return svc.v1.CloseReason[hand.received.at(-1)?.refused?.reason ?? 0]
    }
    const frame = withSeq(1, encodeBody({ heartbeat: {} }))
    expect({
      malformed: await spoil(({ publish }, topic) =>
        publish(topic, Uint8Array.of(0xff, 0xff, 0xff), { qos: 1 }),
      ),
      'wrong direction': await spoil(({ publish }, topic) =>
        publish(topic, withSeq(1, encodeBody({ move: { afterMs: 1 } }))),
      ),
      'oversized heartbeat': await spoil(({ publish }, topic) =>
        publish(topic, withSeq(1, encodeBody({ heartbeat: { loggedInUser: 'x'.repeat(20_000) } }))),
      ),
      'as another device': await spoil(({ publish }) => publish(`d/${victim}/up`, frame, { qos: 1 })),
      'to another device': await spoil(({ publish }) => publish(`d/${victim}/down`, frame)),
      'to be kept': await spoil(({ publish }, topic) => publish(topic, frame, { retain: true })),
      'at QoS 2': await spoil(({ publish }, topic) => publish(topic, frame, { qos: 2 })),
    }).toEqual({
      malformed: 'MALFORMED_FRAME',
      'wrong direction': 'UNEXPECTED_FRAME',
      'oversized heartbeat': 'OVERSIZED_FRAME',
      'as another device': 'UNEXPECTED_FRAME',
      'to another device': 'UNEXPECTED_FRAME',
      'to be kept': 'UNEXPECTED_FRAME',
      'at QoS 2': 'UNEXPECTED_FRAME',
    })

    // Listening to others is not granted, and what they are told does not come.
    const eavesdropper = await byHand(system.mqttUrls[0] ?? '', await newToken())
    for (const topic of [`d/${victim}/down`, 'd/+/down', '#', '$SYS/#'])
      await expect(eavesdropper.client.subscribeAsync(topic), topic).rejects.toThrow()
    await api.send(victim, 'list_processes')
    await until('the victim has it', () => wire.commands.some(({ deviceId }) => deviceId === victim))
    expect(eavesdropper.received.filter(({ command }) => command)).toEqual([])
    eavesdropper.drop()
  }

  test('an enrollment key that is wrong, expired, used up or revoked is refused alike', async () => {
    const { organizationId: orgId, siteId } = system.tenant
    const key = (name: string) =>
      api.want<{ id: string; key: string }>(201, 'POST', '/enrollment-keys', {
        name,
        orgId,
        siteId,
        maxUsage: 1,
      })
    const [expired, used, revoked] = [await key('expired'), await key('used'), await key('revoked')]
    await system.sql`update enrollment_keys set expires_at = now() - interval '1 second' where id = ${expired.id}`
    await system.sql`update enrollment_keys set revoked_at = now() where id = ${revoked.id}`
    expect((await enroll(used.key)).status).toBe(201)
    const count = async () => (await system.sql`select from devices`).length
    const devices = await count()
    const refused = [`svce_${'x'.repeat(43)}`, expired.key, used.key, revoked.key]
    for (const answer of await Promise.all(refused.map(enroll)))
      expect(answer).toMatchObject({ status: 401, body: { error: { code: 'ENROLLMENT_KEY_INVALID' } } })
    expect(await count()).toBe(devices)
    const [row] = await system.sql<{ usageCount: number }[]>`
      select usage_count from enrollment_keys where id = ${used.id}`
    expect(row?.usageCount).toBe(1)
  })

  const enroll = (enrollmentKey: string) =>
    new Api(system.apiUrl).ask<ErrorBody>('POST', '/agents/enroll', { enrollmentKey, ...facts })

  const newToken = async (): Promise<string> => {
    const body = { enrollmentKey: system.tenant.enrollmentKey, ...facts }
    const answer = await new Api(system.apiUrl).want<{ deviceToken: string }>(
      201,
      'POST',
      '/agents/enroll',
      body,
    )
    return answer.deviceToken
  }
})
