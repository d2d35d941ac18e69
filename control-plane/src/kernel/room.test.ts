import { EventEmitter } from 'node:events'
import type { FastifyReply } from 'fastify'
import { expect, test } from 'vitest'
import { ApiError } from './errors.ts'
import { comeAgainSeconds, roomFor } from './room.ts'

const reply = () => ({ raw: new EventEmitter() as unknown as FastifyReply['raw'] })

test('so many are inside at once; whoever is answered or hangs up leaves, and leaves once', () => {
  const enter = roomFor(2)
  const [first, second] = [reply(), reply()]
  enter(first)
  enter(second)
  expect(() => enter(reply())).toThrow(ApiError)
  first.raw.emit('finish')
  first.raw.emit('close')
  enter(reply())
  expect(() => enter(reply())).toThrow(ApiError)
  second.raw.emit('close')
  enter(reply())
  expect(() => enter(reply())).toThrow(ApiError)
})

test('they are not all told to come again at the same time', () => {
  const told = new Set(Array.from({ length: 500 }, comeAgainSeconds))
  expect([...told].toSorted((a, b) => a - b)).toEqual([2, 3, 4, 5])
})

test('of one tenant no more than their part, whoever else has left', () => {
  const enter = roomFor(3, 2)
  const [first, second] = [reply(), reply()]
  enter(first, 'a')
  enter(second, 'a')
  expect(() => enter(reply(), 'a')).toThrow(ApiError)
  enter(reply(), 'b')
  first.raw.emit('close')
  enter(reply(), 'a')
  expect(() => enter(reply(), 'b')).toThrow(ApiError)
})
