import type { CommandRow } from '../judge.ts'
import type { Asked, Evidence } from './evidence.ts'

type Known = Pick<Evidence, 'asked' | 'rows' | 'remembered'>

/**
 * Invariant g: a request whose caller does not know what came of it made one command or none, and the database answers the same to
 * who asks again; one that was accepted made the one that its caller was told of, one that was refused none.
 */
export function outcomeFaults({ asked, rows, remembered }: Known): string[] {
  const made = new Map<string, CommandRow[]>()
  for (const row of rows)
    if (row.content !== null) made.set(row.content, [...(made.get(row.content) ?? []), row])
  const answers = new Map(remembered.map(({ key, commandId }) => [key, commandId]))
  return asked.flatMap((one) => {
    const [row, ...more] = made.get(one.content) ?? []
    if (more.length > 0) return [`${nameOf(one)} exists ${more.length + 1} times`]
    return [...toldFaults(one, row), ...keyFaults(one, row, answers)]
  })
}

/** What somebody asked for and was told nothing certain about, and is there. */
export const resolved = ({ asked, rows }: Pick<Evidence, 'asked' | 'rows'>): CommandRow[] => {
  const uncertain = new Set(asked.flatMap(({ told, content }) => (told === 'unknown' ? [content] : [])))
  return rows.filter(({ content }) => content !== null && uncertain.has(content))
}

function toldFaults(one: Asked, row: CommandRow | undefined): string[] {
  const { told, deviceId } = one
  if (row && row.deviceId !== deviceId) return [`${nameOf(one)} is for ${row.deviceId}, not ${deviceId}`]
  if (told === 'unknown') return []
  if (told === 'refused') return row ? [`${nameOf(one)} was refused and is command ${row.id}`] : []
  return row?.id === told.id
    ? []
    : [`${nameOf(one)} was accepted as ${told.id} and is ${row?.id ?? 'not there'}`]
}

/** A key without its command would answer with what is not there, a command without its key be made again. */
function keyFaults(
  one: Asked,
  row: CommandRow | undefined,
  answers: ReadonlyMap<string, string | null>,
): string[] {
  if (one.key === undefined) return []
  const answer = answers.get(one.key)
  if (row ? answer === row.id : answer === undefined) return []
  return [`the key of ${nameOf(one)} answers ${answer}, and there is ${row?.id ?? 'no command'}`]
}

const nameOf = ({ content }: Asked): string => `the request for ${JSON.stringify(content.split('\n')[0])}`
