import { until, untilClean } from './until.ts'
import { type Meeting, type Version, versions } from './versions.ts'

/** two agents of each version */
export const hostnames = versions.flatMap((version) => [`${version}-MAC-00002`, `${version}-WS-00001`])

/** What a script on that device said; or, if it has not by then, the state that the command is in. */
export async function hello(
  { api, devices, taps }: Meeting,
  hostname: string,
  withinMs = 20_000,
): Promise<string> {
  const id = (await devices()).get(hostname) ?? ''
  const payload = { interpreter: 'sh', content: `echo hello ${hostname}` }
  const command = await api.send(id, 'run_script', payload)
  const { status, stdout } = await api.command(id, command, withinMs)
  if (status !== 'succeeded') return status
  const acked = () => versions.some((of) => taps[of].resultAcks.includes(command))
  await until(`the result of ${hostname} is acknowledged`, acked, 10_000)
  return stdout?.text.trim() ?? ''
}

/** All agents are held there and nowhere else. Throws when they are not in time. */
export async function held(meeting: Meeting, of: Version): Promise<void> {
  const wanted = hostnames.map((hostname) => `${hostname} of-${of}`)
  await untilClean(`the gateway of ${of} holds all agents`, async () => {
    const holders = await meeting.holders()
    return holders.join() === wanted.join() ? [] : holders
  })
}

/** Agents that do not do what they are told, one line each. */
export async function idle(meeting: Meeting): Promise<string[]> {
  const answers = await Promise.all(hostnames.map((hostname) => hello(meeting, hostname)))
  return answers.flatMap((said, at) =>
    said === `hello ${hostnames[at]}` ? [] : [`${hostnames[at]} said ${said}`],
  )
}
