/** Every event that the product tells of, past tense. A test finds an emitter for each (promise P11). */
export const eventTypes = {
  'device.enrolled': 'An agent enrolled a device.',
  'device.online': 'A device was heard from after it had been offline, or for the first time.',
  'device.offline': 'A device said goodbye, or fell silent for too long.',
  'device.flapping':
    'A device connects again and again; until it has settled nobody is told each time that it is there or gone.',
  'device.settled':
    'A device that had been flapping has not connected again for a while; `reconnects` says how often it had.',
  'device.main_agent_silent': 'Only the watchdog of a device is heard, and has been for a while.',
  'device.quarantined': 'A device was cut off until somebody releases it.',
  'device.released': 'A device left quarantine.',
  'device.maintenance_started': 'A device was put into maintenance.',
  'device.maintenance_ended': 'A device was taken out of maintenance.',
  'device.update_started': 'A component of a device began to update itself.',
  'device.updated': 'A component of a device runs the version that it updated itself to.',
  'device.update_failed':
    'An update was refused, broken off, rolled back or came to no end; `reason` says why.',
  'device.moved_out': 'A device went to another organization of the partner; this one sees it no more.',
  'device.moved_in': 'A device came from another organization of the partner.',
  'device.decommissioned': 'A device was retired; its credential is dead.',
  'device.restored': 'A retired device was taken back.',
  'command.queued': 'A command was accepted for a device.',
  'command.finished': 'A command ended; `status` says how.',
} as const satisfies Record<string, string>

export type EventType = keyof typeof eventTypes
