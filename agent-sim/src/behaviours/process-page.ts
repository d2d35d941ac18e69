import type { CommandArgs, CommandResultOf } from '@svc/proto'

/** One page of a device's processes. */
export type ProcessPage = CommandResultOf<'list_processes'>
export type Process = ProcessPage['processes'][number]

const orders: Record<CommandArgs<'list_processes'>['sortBy'], (a: Process, b: Process) => number> = {
  cpu: (a, b) => a.cpuPercent - b.cpuPercent,
  ram: (a, b) => a.ramBytes - b.ramBytes,
  pid: (a, b) => a.pid - b.pid,
  name: (a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)),
}

/** Searches, sorts and cuts on the device: a list may be long and the wire is not for it. Equal ones stand by pid. */
export function pageOf(all: readonly Process[], args: CommandArgs<'list_processes'>): ProcessPage {
  const { page, limit, search, sortBy, sortDesc } = args
  const found = search === undefined ? all : all.filter((process) => matches(process, search.toLowerCase()))
  const sign = sortDesc ? -1 : 1
  const sorted = found.toSorted((a, b) => sign * orders[sortBy](a, b) || a.pid - b.pid)
  const processes = sorted.slice((page - 1) * limit, page * limit)
  return { processes, total: found.length, page, limit }
}

const matches = ({ pid, name, commandLine, user }: Process, needle: string): boolean =>
  String(pid) === needle || [name, commandLine, user].some((text) => text.toLowerCase().includes(needle))
