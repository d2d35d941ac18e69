import { svc } from '@svc/proto'
import { agentVersion } from '../version.ts'
import { Telling } from './telling.ts'
import type { MakeUpdater } from './updater.ts'

/** The updater of an agent that was not installed from a file: it refuses each offer with `not_installed`. */
export const noUpdater: MakeUpdater = ({ say, autoUpdate, serverNow }) => {
  const telling = new Telling(say)
  const refused = {
    fromVersion: agentVersion,
    phase: svc.v1.UpdatePhase.UPDATE_FAILED,
    reason: 'not_installed',
  }
  return {
    versions: { agent: agentVersion, helper: '', watchdog: '' },
    isFresh: false,
    connected: () => telling.connected(),
    offered: ({ component, version }) => {
      if (!autoUpdate()) return
      const atMs = Math.round(serverNow())
      telling.tell({ ...refused, component: component ?? '', toVersion: version ?? '', atMs })
    },
    beat: () => {},
    answered: () => telling.answered(),
    stop: () => {},
  }
}
