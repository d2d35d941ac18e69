/** The sum of a gateway's metric over its workers, for one value of a label or all of them. */
export async function metricOf(port: number, name: string, label = ''): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return text
    .split('\n')
    .filter((line) => /^\w+/.exec(line)?.[0] === name && line.includes(label))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

/** Connections that a gateway ended, or saw end, for that reason. */
export const closedFor = (port: number, reason: string): Promise<number> =>
  metricOf(port, 'svc_edge_closed_total', `reason="${reason.toLowerCase()}"`)
