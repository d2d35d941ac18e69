import type { Mark } from '../../harness/make.ts'

/** Where things of the world are: organization A of partner 1, B of it, one of partner 2. */
export type Place = 'own' | 'sibling' | 'foreign'
/** `first`, `second`: what is the partner's itself, and its people's. `gone`: what was deleted with its tenant. */
export type MarkName = Place | 'first' | 'second' | 'gone'

/** Every name, e-mail, slug and host of a place has its word in it, and every id ends with its digits: nobody else's do. */
export const marks: Record<MarkName, Mark> = {
  own: { word: 'zqown', tail: '0a0a0a01' },
  sibling: { word: 'zqsibling', tail: '0a0a0a02' },
  first: { word: 'zqfirst', tail: '0a0a0a03' },
  foreign: { word: 'zqforeign', tail: '0a0a0a04' },
  second: { word: 'zqsecond', tail: '0a0a0a05' },
  gone: { word: 'zqgone', tail: '0a0a0a06' },
}

const word = `zq(${Object.keys(marks).join('|')})[\\w.@-]*`
const id = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}(0a0a0a0\\d)'
const marked = new RegExp(`${word}|${id}`, 'g')
const byTail = new Map(Object.entries(marks).map(([name, { tail }]) => [tail, name as MarkName]))

/**
 * What a text shows of others.
 *
 * @param seen whose marks may be in it
 * @param asked what the request said itself, and may be told again
 * @returns the marked names and ids that are neither, each once
 */
export function foreignIn(text: string, seen: readonly MarkName[], asked = ''): string[] {
  const found = [...text.matchAll(marked)].filter(([whole, name, tail]) => {
    const mark = (name as MarkName | undefined) ?? byTail.get(tail ?? '')
    return mark !== undefined && !seen.includes(mark) && !asked.includes(whole)
  })
  return [...new Set(found.map(([whole]) => whole))]
}

/** What belongs to an organization says the id of its partner, and of the partner's user who made it: those two are told. */
export function withoutOwners(text: string, partner: MarkName): string {
  const owner = new RegExp(`"(partnerId|createdBy)":"[0-9a-f-]{28}${marks[partner].tail}"`, 'g')
  // Who did what is told of with their address, to whoever sees what was done.
  const actor = new RegExp(`"actor":{[^{}]*${marks[partner].tail}"[^{}]*}`, 'g')
  return text.replaceAll(owner, '').replaceAll(actor, '')
}
