import { passed, type Row, tableOf } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { Stage, type StageOptions } from './stage.ts'

/**
 * Plays faults one after the other, on as few stages as that takes; a row for each.
 * @param planted each without its guard, on a stage of its own: then it passes when that was noticed
 */
export async function playFaults(
  faults: readonly Fault[],
  options: StageOptions,
  planted = false,
): Promise<Row[]> {
  const verdicts: Row[] = []
  let stage: Stage | undefined
  try {
    for (const fault of faults) {
      const plant = planted ? fault.plant : undefined
      if (stage && !stage.suits(fault, plant)) {
        await stage.close()
        stage = undefined
      }
      options.say(`${fault.id}: ${plant ? `${fault.fault}, without ${plant.guard}` : fault.fault}`)
      stage ??= await Stage.open(fault, options, plant)
      const rows = await stage.play(fault, planted)
      options.say(`${fault.id}\n${tableOf(rows)}\n`)
      verdicts.push(planted ? noticedIn(fault, rows) : verdictOf(fault, rows))
    }
  } finally {
    await stage?.close()
  }
  return verdicts
}

/** A fault's row: what is wrong, or how much was looked at. */
function verdictOf({ id, fault, expected }: Fault, rows: readonly Row[]): Row {
  const wrong = rows.filter(({ pass }) => !pass).map(({ what, seen }) => `${what}: ${seen}`)
  const seen = wrong.length === 0 ? `as expected, by ${rows.length} rows` : wrong.join('; ')
  return { what: `${id} ${fault}`, expected, seen, pass: passed(rows) }
}

/** Whether it was noticed that the guard was missing. */
export function noticedIn({ id, plant }: Fault, rows: readonly Row[]): Row {
  const failed = rows.filter(({ pass }) => !pass)
  const by = failed.filter(({ what }) => plant.noticed.test(what)).map(({ what, seen }) => `${what}: ${seen}`)
  const otherwise =
    failed.length === 0 ? 'PASS' : `FAIL, but for ${failed.map(({ what }) => what).join('; ')}`
  return {
    what: `${id} without ${plant.guard}`,
    expected: 'FAIL',
    seen: by.length > 0 ? `FAIL: ${by.join('; ')}` : otherwise,
    pass: by.length > 0,
  }
}
