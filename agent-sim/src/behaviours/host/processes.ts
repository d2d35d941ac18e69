import { readdir } from 'node:fs/promises'
import type { Process } from '../process-page.ts'
import { bootTime, bytesOf, fieldsOf, textOf, ticksPerSecond } from './proc.ts'

/** Processor load is measured over this long. */
const sampleMs = 300
/** A command line may be megabytes; this much says what it is. */
const maxCommandLine = 4096
/** Files of so many processes are read at once. */
const readAtOnce = 64

/** /proc/<pid>/stat (proc(5)). The name stands in parentheses and may hold any of them. */
export function parseStat(text: string) {
  const [open, close] = [text.indexOf('('), text.lastIndexOf(')')]
  const rest = text.slice(close + 2).split(' ')
  return {
    name: text.slice(open + 1, close),
    state: rest[0] ?? '',
    parentPid: Number(rest[1]),
    /** user + system time */
    cpuTicks: Number(rest[11]) + Number(rest[12]),
    /** since boot */
    startTicks: Number(rest[19]),
  }
}

export const parsePasswd = (text: string): Map<string, string> =>
  new Map(
    text.split('\n').flatMap((line): [string, string][] => {
      const [name, , uid] = line.split(':')
      return name && uid ? [[uid, name]] : []
    }),
  )

/** As ps shows it: arguments with spaces between, a kernel thread's name in brackets. */
export const commandLineOf = (cmdline: string, name: string): string =>
  cmdline.replace(/\0+$/, '').replaceAll('\0', ' ').slice(0, maxCommandLine) || `[${name}]`

type Snapshot = Process & { cpuTicks: number; startTicks: number }

async function snapshot(pid: number, booted: number, users: Map<string, string>): Promise<Snapshot[]> {
  const [stat, status, cmdline] = await Promise.all(
    ['stat', 'status', 'cmdline'].map((file) => textOf(`/proc/${pid}/${file}`)),
  )
  // It ended while we read.
  if (!stat || !status) return []
  const { name, state, parentPid, cpuTicks, startTicks } = parseStat(stat)
  const fields = fieldsOf(status)
  const uid = (fields.get('Uid') ?? '').split('\t')[1] ?? ''
  return [
    {
      pid,
      parentPid,
      name,
      commandLine: commandLineOf(cmdline ?? '', name),
      user: users.get(uid) ?? uid,
      state,
      cpuPercent: 0,
      ramBytes: bytesOf(fields.get('VmRSS')),
      startedAt: new Date((booted + startTicks / ticksPerSecond) * 1000).toISOString(),
      cpuTicks,
      startTicks,
    },
  ]
}

const pids = async () => (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)

async function inBatches<T>(all: readonly number[], read: (pid: number) => Promise<T>): Promise<T[]> {
  const answers: T[] = []
  for (let at = 0; at < all.length; at += readAtOnce)
    answers.push(...(await Promise.all(all.slice(at, at + readAtOnce).map(read))))
  return answers
}

/** Ticks used so far by each process; the start tells a process from a later one with its number. */
async function ticksByPid(): Promise<Map<string, number>> {
  const stats = await inBatches(await pids(), async (pid) => ({
    pid,
    text: await textOf(`/proc/${pid}/stat`),
  }))
  return new Map(
    stats.flatMap(({ pid, text }): [string, number][] => {
      const stat = text ? parseStat(text) : undefined
      return stat ? [[`${pid}:${stat.startTicks}`, stat.cpuTicks]] : []
    }),
  )
}

/** All processes of this machine. `cpuPercent` is of one processor, over the last 300 ms; `state` is the kernel's letter. */
export async function readProcesses(): Promise<Process[]> {
  const [before, since] = [await ticksByPid(), performance.now()]
  await new Promise((resolve) => setTimeout(resolve, sampleMs))
  const users = parsePasswd((await textOf('/etc/passwd')) ?? '')
  const booted = await bootTime()
  const now = (await inBatches(await pids(), (pid) => snapshot(pid, booted, users))).flat()
  const elapsedTicks = ((performance.now() - since) / 1000) * ticksPerSecond
  return now.map(({ cpuTicks, startTicks, ...process }) => {
    const used = cpuTicks - (before.get(`${process.pid}:${startTicks}`) ?? cpuTicks)
    return { ...process, cpuPercent: Math.round((1000 * used) / elapsedTicks) / 10 }
  })
}
