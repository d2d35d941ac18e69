import type { Row } from '../verdict.ts'
import type { Counts } from './counts.ts'
import type { Schema } from './schema.ts'

/** What only a defect of ours ends a connection with. */
const ours = 'INTERNAL_ERROR'

/** Each reason that session.proto knows, and how often a peer came to it: none is left out, and none is our own fault. @param errors caught by the gateway */
export function reasonRows({ enums }: Schema, reasons: Counts, errors: number): Row[] {
  const all = [...(enums.get('CloseReason')?.values() ?? [])]
  return all.map((reason) => {
    const many = reasons.get(reason) ?? 0
    const what = `ended with ${reason}`
    if (reason === ours)
      return {
        what,
        expected: '0, and no error caught',
        seen: `${many}, ${errors} errors`,
        pass: many === 0 && errors === 0,
      }
    return { what, expected: '≥ 1', seen: String(many), pass: many > 0 }
  })
}
