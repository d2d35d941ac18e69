import type { FastifyInstance } from 'fastify'
import { call, type CallOptions, type Reply } from '../world/calls.ts'
import { hidden } from './seen.ts'
import type { Things } from '../world/things.ts'
import type { Limited, Stage } from './stage.ts'

/** One route, asked by one member. @see Check */
export interface Subject {
  stage: Stage
  limited: Limited
  name: string
  /** default: the world's own */
  app?: FastifyInstance | undefined
  /** default: the stage's */
  things?: Things | undefined
}

/** Compares what a route answers a limited member with what the database says they may see; yields each difference. */
export type Check = (subject: Subject) => AsyncGenerator<string>

export const ask = (
  { stage, limited, name, app, things = stage.things }: Subject,
  more: Partial<CallOptions> = {},
) => call(stage.world, name, { caller: { person: limited.person }, things, ...more }, app)

/** What is in an answer and must not be. */
export async function leaks({ stage, limited, name }: Subject, replies: readonly Reply[]): Promise<string[]> {
  return (await hidden(stage, limited))
    .filter((word) => replies.some(({ text }) => text.includes(word)))
    .map((word) => `${name}, ${limited.name}: shows ${word}`)
}

/** All rows of a list in either envelope, page after page, and the answers that they came with. */
export async function walk(subject: Subject, more: Partial<CallOptions> = {}) {
  const replies: Reply[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: Record<string, string> = { limit: '500', ...more.query, ...(cursor && { cursor }) }
    const reply = await ask(subject, { ...more, query })
    replies.push(reply)
    cursor = reply.json?.pagination?.cursor ?? reply.json?.nextCursor ?? null
  }
  const rows = replies.flatMap(({ json }) => (json?.devices ?? json?.data ?? []) as Row[])
  return { rows, replies, status: replies[0]?.status }
}

export interface Row {
  id: string
  deviceCount?: number
}

/** What of two sets of ids is in one alone. */
export function apart(
  { name, limited }: Subject,
  what: string,
  rows: readonly { id: string }[],
  expected: readonly { id: string }[],
): string[] {
  const text = (all: readonly { id: string }[]) => all.map(({ id }) => id).toSorted()
  const [found, due] = [text(rows), text(expected)]
  return JSON.stringify(found) === JSON.stringify(due)
    ? []
    : [`${name}${what}, ${limited.name}: ${found.length} rows instead of ${due.length}, or others`]
}
