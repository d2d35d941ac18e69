import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Api } from './harness/api.ts'
import { type Crowd, startCrowd } from './harness/crowd.ts'
import { systemTests } from './harness/suite.ts'
import { startSystem, type System } from './harness/system.ts'
import { until } from './harness/until.ts'

interface View {
  status: string
  watchdogStatus: string | null
  mainAgentSilentSince: string | null
  lastSeenAt: string
}

/** Minutes, in seconds. */
const variables = {
  WATCHDOG_SILENT_AFTER_MS: '3000',
  MAIN_AGENT_SILENT_AFTER_MS: '3000',
  GONE_AFTER_MS: '2000',
}

systemTests('a device whose agent is silent and whose watchdog is not', () => {
  let system: System
  let crowd: Crowd
  let api: Api

  beforeAll(async () => {
    system = await startSystem({ variables })
    api = await system.admin()
    crowd = await startCrowd(system, {
      agents: 2,
      name: 'watched',
      watchdogs: { everyMs: 400, failoverAfterMs: 800 },
    })
  })
  afterAll(async () => {
    await crowd?.fleet.kill()
    await system?.close()
  })

  test('is shown as such, then both as gone, then as whole again; its neighbour is not', async () => {
    const [device, neighbour] = crowd.fleet.agents
    if (!device?.watchdog || !neighbour) throw new Error('there is no watchdog')
    const look = ({ deviceId }: { deviceId: string }) => api.want<View>(200, 'GET', `/devices/${deviceId}`)
    const comes = (what: string, holds: (view: View) => boolean) =>
      until(what, async () => holds(await look(device)), 30_000)
    await comes('both are there', (view) => view.watchdogStatus === 'connected' && view.status === 'online')

    device.agent.kill()
    await comes('the watchdog speaks alone', (view) => view.watchdogStatus === 'failover')
    await comes('the agent is silent', (view) => view.mainAgentSilentSince !== null)
    await comes('the device is offline', (view) => view.status === 'offline')
    const alone = await look(device)
    expect(alone.mainAgentSilentSince).toBe(alone.lastSeenAt)
    expect(alone.watchdogStatus).toBe('failover')
    expect(device.watchdog.isActing).toBe(true)
    // Nothing is sent to a watchdog: what is asked of the device waits for its agent.
    const commandId = await api.send(device.deviceId, 'refresh_inventory', {})

    device.watchdog.kill()
    await comes('the watchdog is silent, too', (view) => view.watchdogStatus === 'offline')
    expect((await look(device)).mainAgentSilentSince).toBe(alone.mainAgentSilentSince)

    device.watchdog.start()
    await comes('the watchdog is back', (view) => view.watchdogStatus === 'failover')
    await device.restart()
    await comes(
      'both are back',
      (view) =>
        view.watchdogStatus === 'connected' && view.mainAgentSilentSince === null && view.status === 'online',
    )
    await until(
      'the watchdog has given way',
      () => device.watchdog?.isActing === false && device.agent.isConnected,
    )
    await until('the command is carried out', async () => {
      const { status } = await api.want<{ status: string }>(
        200,
        'GET',
        `/devices/${device.deviceId}/commands/${commandId}`,
      )
      return status === 'succeeded'
    })
    const told = await system.sql<{ subjectId: string }[]>`
      select subject_id from outbox where type = 'device.main_agent_silent'`
    expect(told).toEqual([{ subjectId: device.deviceId }])
    expect(await look(neighbour)).toMatchObject({
      status: 'online',
      watchdogStatus: 'connected',
      mainAgentSilentSince: null,
    })
  })
})
