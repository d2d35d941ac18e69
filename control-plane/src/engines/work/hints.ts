import { svc } from '@svc/proto'
import { type Bus, names } from '@svc/proto/bus'

/** Most ids in one hint: it stays far below a frame. */
const perHint = 1_000

async function publish(
  bus: Pick<Bus, 'publish'>,
  channel: string,
  ids: readonly string[],
  key: 'finishedCommands' | 'owedDevices',
) {
  for (let at = 0; at < ids.length; at += perHint) {
    const hint = svc.v1.Hint.encode({ [key]: ids.slice(at, at + perHint) }).finish()
    await bus.publish(channel, hint)
  }
}

/** Wakes those who wait for these commands, in whatever process. Never rejects. */
export const tellFinished = (bus: Pick<Bus, 'publish'>, commandIds: readonly string[]): Promise<void> =>
  publish(bus, names.apiAll(), commandIds, 'finishedCommands')

/**
 * Tells the workers that something is owed to these devices: the owner of a device's shard offers it at once. Call after the
 * commit of `send` or `cancel`. Only a hint: without it the device gets it with its next heartbeat. Never rejects.
 */
export const dispatch = (
  ports: { bus: Pick<Bus, 'publish'> },
  deviceIds: string | readonly string[],
): Promise<void> =>
  publish(ports.bus, names.workAll(), typeof deviceIds === 'string' ? [deviceIds] : deviceIds, 'owedDevices')

/** Tells the workers that a release was registered: they look again at once. Never rejects. */
export const tellReleases = async (bus: Pick<Bus, 'publish'>): Promise<void> => {
  await bus.publish(names.workAll(), svc.v1.Hint.encode({ releasesChanged: true }).finish())
}

/** What a hint says; nothing for one that cannot be read. */
export function readHint(
  payload: Uint8Array,
): Pick<svc.v1.Hint, 'finishedCommands' | 'owedDevices' | 'releasesChanged'> {
  try {
    const { finishedCommands, owedDevices, releasesChanged } = svc.v1.Hint.decode(payload)
    return { finishedCommands, owedDevices, releasesChanged }
  } catch {
    return { finishedCommands: [], owedDevices: [], releasesChanged: false } // whoever waits for it also looks for itself
  }
}
