import { expect, test } from 'vitest'
import { type Message, Messages } from './messages.ts'
import { Statements } from './statements.ts'

const message = (type: string, ...strings: string[]): Buffer => {
  const body = Buffer.from(strings.map((text) => `${text}\0`).join(''))
  const head = Buffer.alloc(type.length + 4)
  head.write(type)
  head.writeUInt32BE(body.length + 4, type.length)
  return Buffer.concat([head, body])
}

const startup = message('', 'user', 'somebody')
const all = [
  startup,
  message('Q', 'begin'),
  message('P', 's1', 'insert into commands values ($1)'),
  message('B', '', 's1', 'an argument'),
  message('P', 's2', 'commit'),
  message('B', '', 's2'),
]

const commits = (messages: readonly Message[]) => {
  const statements = new Statements()
  return messages.map((one) => statements.isCommit(one))
}

test('messages are found however they are cut, and none is lost', () => {
  const bytes = Buffer.concat(all)
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const stream = new Messages(true)
    const found: Message[] = []
    for (let at = 0; at < bytes.length; at += size) found.push(...stream.push(bytes.subarray(at, at + size)))
    expect(Buffer.concat(found.map((one) => one.bytes))).toEqual(bytes)
    expect(found.map(({ type }) => type)).toEqual(['', 'Q', 'P', 'B', 'P', 'B'])
    expect(commits(found)).toEqual([false, false, false, false, false, true])
  }
})

test('a COMMIT is known by what its transaction executed, with its parameters', () => {
  const statements = new Statements()
  const stream = new Messages(true)
  const last = stream.push(Buffer.concat(all)).filter((one) => statements.isCommit(one))
  expect(last).toHaveLength(1)
  expect(statements.texts.some((text) => /insert into commands[^]*an argument/.test(text))).toBe(true)
  expect(statements.isCommit({ type: 'Q', bytes: message('Q', 'begin isolation level serializable') })).toBe(
    false,
  )
  expect(statements.texts.join()).not.toContain('insert into commands')
})
