import type { CheckIn } from '../engines/updates/offer.ts'
import type { Presence, Written } from './presence.ts'

/**
 * The devices whose agents sent a heartbeat on a connection that counts, with what decides about updates and configuration.
 *
 * @param written by device: the configuration that it is to have
 */
export const checkInsOf = (
  presences: readonly Presence[],
  written: ReadonlyMap<string, Written>,
): CheckIn[] =>
  presences.flatMap(({ deviceId, node, epoch, beat }) => {
    const wantedConfig = written.get(deviceId)?.configVersion
    if (!beat || node === null || wantedConfig === undefined) return []
    return [{ from: { deviceId, node, epoch }, ...beat, wantedConfig }]
  })
