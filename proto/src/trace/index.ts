export {
  fromWire,
  inLog,
  isRequestId,
  readTraceparent,
  toWire,
  type Trace,
  traceOfRequest,
  writeTraceparent,
} from './trace.ts'
export { type Attributes, noTracing, type Span, type Tracing } from './tracing.ts'
export { openTracing } from './open.ts'
