import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** One record of an answer: of the name that was asked, or of another that a chain leads to. */
export interface Answered {
  name?: string
  type: 'A' | 'AAAA' | 'CNAME'
  data: string
}

/** What is asked, and how often it was before. */
export interface Question {
  name: string
  type: 'A' | 'AAAA' | 'other'
  before: number
}

type Answering = (question: Question) => readonly Answered[] | 'NXDOMAIN' | 'SERVFAIL' | 'silent'

const types = { A: 1, CNAME: 5, AAAA: 28 } as const
const codes = { NXDOMAIN: 3, SERVFAIL: 2 } as const

/** RFC 1035 §3.1, without compression. */
const named = (name: string) =>
  Buffer.concat([
    ...name
      .split('.')
      .filter(Boolean)
      .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ])

function readName(message: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let at = 12
  while (message[at] !== 0 && at < message.length) {
    const length = message[at] ?? 0
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 }
}

function record(asked: string, { name = asked, type, data }: Answered): Buffer {
  const bytes = type === 'CNAME' ? named(data) : Buffer.from(ipaddr.parse(data).toByteArray())
  const head = Buffer.alloc(10)
  head.writeUInt16BE(types[type], 0)
  head.writeUInt16BE(1, 2) // IN; the four bytes after it are a TTL of 0
  head.writeUInt16BE(bytes.length, 8)
  return Buffer.concat([named(name), head, bytes])
}

/** Addresses as records of their family. */
export const addresses = (...all: string[]): Answered[] =>
  all.map((data) => ({ type: isIPv6(data) ? 'AAAA' : 'A', data }))

/** Of these records those that a question of this type gets: its own, and the chain that leads to them. */
export const of = (type: Question['type'], all: readonly Answered[]): Answered[] =>
  all.filter((each) => each.type === type || each.type === 'CNAME')

/** A name server on loopback (RFC 1035 over UDP) that says what the test says, each answer with a TTL of 0. */
export async function nameServer(answering: Answering) {
  const socket = createSocket('udp4')
  const asked: Question[] = []
  socket.on('message', (message, from) => {
    const { name, end } = readName(message)
    const number = message.readUInt16BE(end)
    const type = number === types.A ? 'A' : number === types.AAAA ? 'AAAA' : 'other'
    const question: Question = {
      name,
      type,
      before: asked.filter((each) => each.name === name && each.type === type).length,
    }
    asked.push(question)
    const answer = answering(question)
    if (answer === 'silent') return
    const records = typeof answer === 'string' ? [] : answer.map((each) => record(name, each))
    const head = Buffer.alloc(12)
    message.copy(head, 0, 0, 2)
    head.writeUInt16BE(0x8180 | (typeof answer === 'string' ? codes[answer] : 0), 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(records.length, 6)
    socket.send(Buffer.concat([head, message.subarray(12, end + 4), ...records]), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { address: `127.0.0.1:${socket.address().port}`, asked, close: () => socket.close() }
}
