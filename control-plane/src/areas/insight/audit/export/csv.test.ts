import { expect, test } from 'vitest'
import { parseCsv } from '../../../../../test/harness/csv.ts'
import { csvLine, neutral, neutralJson } from './csv.ts'

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\r=1', '\n=1', ' =1', '\u00a0=1', '＝1', '＋1', '－1', '＠1'])(
  '%j is no formula any more',
  (text) => {
    expect(neutral(text)).toBe(`'${text}`)
    expect(parseCsv(csvLine([text, 'next']))).toEqual([[`'${text}`, 'next']])
  },
)

test.each([
  ['x;=1+1;y', "x;'=1+1;y"],
  ['x; @SUM(A1)', "x;' @SUM(A1)"],
  ['a;;-1', "a;;'-1"],
  ['a\t=1', "a\t'=1"],
  ['\t=1', "'\t'=1"],
  ['=1;=1', "'=1;'=1"],
])('%j begins no formula where cells end with a semicolon or a tab', (text, expected) => {
  expect(neutral(text)).toBe(expected)
  // As a spreadsheet that takes quotes for nothing within a line.
  const cells = csvLine(['id', text, 'next']).split(/[;\t]/)
  expect(cells.filter((cell) => /^"?\s*[=+\-@]/.test(cell))).toEqual([])
})

test.each([
  'a=1',
  'Mozilla/5.0 (X11; Linux; rv:1)',
  'a; b',
  'host-1',
  "'=1",
  '1-1',
  '',
  '{"a":1}',
  'e@example.com',
])('%j stays as it is', (text) => {
  expect(neutral(text)).toBe(text)
})

test('cells hold anything, and come back as they were', () => {
  const cells = ['a,b', 'say "x"', 'two\r\nlines', 'a\rb', '漢字 🙂', ';', '"', '""', '']
  expect(parseCsv(csvLine(cells) + csvLine(cells))).toEqual([cells, cells])
  expect(parseCsv(csvLine([null]))).toEqual([['']])
})

test('texts within JSON are made harmless one by one, keys too, and nothing else is', () => {
  const text = neutralJson({ '=k': ['=1', { deep: '@x' }], n: -1, ok: true, none: null, plain: 'a=b' })
  expect(JSON.parse(text)).toEqual({
    "'=k": ["'=1", { deep: "'@x" }],
    n: -1,
    ok: true,
    none: null,
    plain: 'a=b',
  })
})

test('what is no CSV is refused by the parser that judges', () => {
  for (const text of ['a,b\r\n', '"a"b",\r\n', '"a"\n', '"a']) expect(() => parseCsv(text)).toThrow('no CSV')
})
