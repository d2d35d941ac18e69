import { expect, test } from 'vitest'
import { viewOutput } from './output.ts'

const view = (data: Uint8Array, encoding: string, size = data.length) =>
  viewOutput({ data, encoding, size, truncated: size > data.length })

const utf8 = (text: string) => Buffer.from(text)

test('UTF-8 output is shown as text, whether or not the agent named the encoding', () => {
  const bytes = utf8('naïve — 日本\n')
  for (const encoding of ['utf-8', '']) {
    expect(view(bytes, encoding)).toEqual({
      text: 'naïve — 日本\n',
      encoding: encoding || null,
      size: bytes.length,
      truncated: false,
      lossy: false,
    })
  }
})

test('a console code page is decoded by its name', () => {
  expect(view(Buffer.from([0x8f, 0xe0, 0xa8, 0xa2, 0xa5, 0xe2]), 'cp866').text).toBe('Привет')
  expect(view(Buffer.from('hé', 'utf16le'), 'utf-16le')).toMatchObject({ text: 'hé', lossy: false })
})

test('bytes that are not what they are said to be are shown with replacements and exactly', () => {
  const bytes = Buffer.from([0x61, 0xff, 0x62])
  expect(view(bytes, 'utf-8')).toEqual({
    text: 'a\ufffdb',
    encoding: 'utf-8',
    size: 3,
    truncated: false,
    lossy: true,
    base64: bytes.toString('base64'),
  })
})

test('an encoding that is not known is exact for ASCII only', () => {
  expect(view(utf8('plain'), 'cp437')).toMatchObject({ text: 'plain', lossy: false })
  expect(view(utf8('é'), 'cp437')).toMatchObject({ lossy: true, base64: utf8('é').toString('base64') })
})

test('truncation is said, and a character that it cut in half is left out', () => {
  const kept = utf8('日本').subarray(0, 5)
  expect(view(kept, 'utf-8', 6)).toEqual({
    text: '日',
    encoding: 'utf-8',
    size: 6,
    truncated: true,
    lossy: false,
  })
  expect(view(kept, 'utf-8').lossy).toBe(true)
})

test('an empty output is empty text', () => {
  expect(view(new Uint8Array(), 'utf-8')).toMatchObject({ text: '', size: 0, lossy: false })
})
