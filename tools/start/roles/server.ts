import { buildControlPlane, readConfig, seedDemo, type Shown } from '@svc/control-plane'
import { buildGateway, readConfig as readGatewayConfig } from '@svc/edge-gateway'
import { type Bus, MemoryBus, RedisBus } from '@svc/proto/bus'
import type { Role, Settings, StartRole } from '../child.ts'
import { DataFolder } from '../data-folder.ts'
import { releaseOwnAgent } from './own-release.ts'

/** The control plane in a process of its own. */
export const controlPlane: StartRole = async (settings, news) => {
  const bus = new RedisBus(settings['REDIS_URL'] ?? '')
  const { ready, close } = await startControlPlane(settings, bus, news)
  return {
    ready,
    close: async () => {
      await close()
      await bus.close()
    },
  }
}

/** Control plane and gateway in one process, with a bus in its memory (docs/decisions/0010). */
export const server: StartRole = async (settings, news) => {
  const bus = new MemoryBus()
  const { ready, close } = await startControlPlane(settings, bus, news)
  const gateway = buildGateway({ config: readGatewayConfig(settings), bus })
  await gateway.listen()
  return {
    ready,
    close: async () => {
      await gateway.drain()
      await close()
      await bus.close()
    },
  }
}

/** Where nothing is configured to send it, the terminal is the mailbox and the telephone. In one line, whatever its parts hold. */
export const describeShown = ({ by, to, text, link }: Shown): string =>
  [by === 'mail' ? 'mail' : 'text message', `to ${to}:`, text, ...(link === null ? [] : [link])]
    .join(' ')
    .replaceAll(/\p{Cc}+/gu, ' ')

async function startControlPlane(settings: Settings, bus: Bus, news: (text: string) => void): Promise<Role> {
  const show = (shown: Shown) => news(describeShown(shown))
  const controlPlane = await buildControlPlane({ config: readConfig(settings), bus, show })
  const folder = new DataFolder(settings['DATA'] ?? '')
  // Before the commit: the database keeps hashes alone, so what is not written down by then is lost.
  const { secrets } = await seedDemo(controlPlane.db, controlPlane.ports, {}, (made) => {
    const { password, totpSecret, enrollmentKey } = made.secrets
    folder.demo.write({ email: made.email, password, totpSecret, enrollmentKey })
  })
  await controlPlane.listen()
  const ending = new AbortController()
  const releasing = settings['RELEASE_OWN_AGENT']
    ? releaseOwnAgent(controlPlane, folder, ending.signal)
    : undefined
  const released = releasing?.catch((error: unknown) => {
    if (!ending.signal.aborted) news(`the release of the running agent was not registered: ${String(error)}`)
  })
  const ready: Seeded = { fresh: secrets !== undefined }
  return {
    ready,
    close: async () => {
      ending.abort()
      await released
      await controlPlane.close()
    },
  }
}

/** Whether the demo tenant was made by this start; then its secrets are in the data folder. */
export interface Seeded {
  fresh: boolean
}
