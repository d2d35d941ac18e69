import type { Row } from '../verdict.ts'
import type { Scene } from './scene.ts'

/** Something that happens to the product, and what must come of it. */
export interface Fault {
  /** of the fault table, such as `F1` */
  id: string
  fault: string
  /** what must be seen, in few words */
  expected: string
  plant: Plant
  /** of all programs, over what is set otherwise; faults that say the same may be played on one stage */
  variables?: Readonly<Record<string, string>>
  /** agents reach gateways by wires, which it can cut */
  wiredAgents?: true
  /** it strikes Postgres itself: {@link Scene.postgres} is there */
  ownPostgres?: true
  /** programs that it needs beside redis-server; without them it cannot be played */
  needs?: readonly 'haproxy'[]
  /**
   * Injects it under load and waits until it is over; what the checker finds afterwards is not its business. With `scene.planted` it
   * also takes the guard away, unless the plant's variables do so.
   */
  run(scene: Scene): Promise<Row[]>
}

/** A guard that is taken away, without which the fault must be seen to do harm. */
export interface Plant {
  /** the guard, and how it is taken away */
  guard: string
  /** of all programs, from their start */
  variables?: Readonly<Record<string, string>>
  /** of the callers: they repeat requests without a key */
  withoutKeys?: true
  /** the words of a row that must fail: another one that fails does not show that it was noticed */
  noticed: RegExp
}
