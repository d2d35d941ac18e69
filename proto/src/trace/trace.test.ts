import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  fromWire,
  isRequestId,
  readTraceparent,
  toWire,
  type Trace,
  traceOfRequest,
  writeTraceparent,
} from './trace.ts'

const trace: Trace = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  sampled: true,
}

test('a traceparent is read as it was written, and later versions as far as they are known', () => {
  expect(readTraceparent(writeTraceparent(trace))).toEqual(trace)
  expect(readTraceparent(`01-${trace.traceId}-${trace.spanId}-03-more`)).toEqual(trace)
  expect(readTraceparent(`00-${trace.traceId}-${trace.spanId}-02`)).toEqual({ ...trace, sampled: false })
})

test.each([
  undefined,
  '',
  ['00'],
  `00-${trace.traceId}-${trace.spanId}`,
  `00-${trace.traceId}-${trace.spanId}-01-more`,
  `ff-${trace.traceId}-${trace.spanId}-01`,
  `00-${trace.traceId.toUpperCase()}-${trace.spanId}-01`,
  `00-${'0'.repeat(32)}-${trace.spanId}-01`,
  `00-${trace.traceId}-${'0'.repeat(16)}-01`,
  `01-${trace.traceId}-${trace.spanId}-01-${'x'.repeat(300)}`,
])('%s is none', (header) => {
  expect(readTraceparent(header)).toBeUndefined()
})

test('an id names a request, its trace and its span', () => {
  const id = crypto.randomUUID()
  const made = traceOfRequest(id, false)
  expect(made).toEqual({
    traceId: id.replaceAll('-', ''),
    spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
    sampled: false,
    requestId: id,
  })
  expect(fromWire(toWire(made))).toEqual(made)
  expect(isRequestId(id) && !isRequestId(`${id} `) && !isRequestId('x'.repeat(36))).toBe(true)
})

test('whatever an agent sends as a trace is one or is none', () => {
  const bytes = fc.option(fc.uint8Array({ maxLength: 20 }))
  fc.assert(
    fc.property(bytes, bytes, bytes, fc.nat(), (traceId, spanId, requestId, flags) => {
      const read = fromWire({ traceId, spanId, requestId, flags })
      if (read) expect(readTraceparent(writeTraceparent(read))).toMatchObject({ traceId: read.traceId })
      else
        expect(
          traceId?.length === 16 && spanId?.length === 8 && traceId.some(Boolean) && spanId.some(Boolean),
        ).toBe(false)
    }),
  )
})

test('nothing of OpenTelemetry is loaded unless it is configured', () => {
  const loaded = (endpoint: string | undefined) =>
    execFileSync(
      process.execPath,
      [
        '--import',
        'tsx',
        '--input-type=module',
        '-e',
        `import { createRequire } from 'node:module'
         import { openTracing } from ${JSON.stringify(join(import.meta.dirname, 'index.ts'))}
         const tracing = await openTracing({ endpoint: ${JSON.stringify(endpoint)}, ratio: 0, service: 'tool', instance: 'x', version: '1', failed: () => {} })
         console.log(tracing.on, Object.keys(createRequire(import.meta.filename ?? '/x.js').cache).filter((name) => name.includes('@opentelemetry')).length > 0)`,
      ],
      { cwd: import.meta.dirname, encoding: 'utf8' },
    ).trim()
  expect(loaded(undefined)).toBe('false false')
  expect(loaded('http://127.0.0.1:1')).toBe('true true')
})
