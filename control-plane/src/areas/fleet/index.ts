import agentVersions from './agent-versions/routes.ts'
import agentDownloads from './agents/download/routes.ts'
import agents from './agents/routes.ts'
import autoUpdate from './devices/auto-update/routes.ts'
import commands from './devices/commands/routes.ts'
import devices from './devices/devices/routes.ts'
import standing from './devices/standing/routes.ts'
import inventory from './devices/inventory/routes.ts'
import groups from './groups/groups/routes.ts'
import groupMembers from './groups/members/routes.ts'

/** Devices, what they are told to do, their groups, and the agents on them. */
export default [
  ...devices,
  ...standing,
  ...inventory,
  ...autoUpdate,
  ...commands,
  ...groups,
  ...groupMembers,
  ...agents,
  ...agentDownloads,
  ...agentVersions,
]
