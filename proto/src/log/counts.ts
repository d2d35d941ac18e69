import type { SecurityEvent } from './events.ts'

/** What became of this process's lines; metrics read it. A process has one standard output, and so one of these. */
export const logCounts = {
  /** not written: nobody read (`stalled`), the reader has gone (`gone`), or the same was said over and over (`repeated`) */
  lost: { stalled: 0, gone: 0, repeated: 0 },
  /** how often each happened, whether or not it is a line */
  security: {} as Partial<Record<SecurityEvent, number>>,
}
