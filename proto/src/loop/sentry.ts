/** What the sentry is told at its start. */
export interface SentryOrders {
  /** one number that the event loop's timer counts up */
  beats: SharedArrayBuffer
  toldFromMs: number
  blockedFromMs: number
  /** what each line of this process's log begins with; absent: it writes none */
  line: Record<string, unknown> | undefined
}

/** What it says: where the loop was when it stood still, as V8 tells it. */
export interface Seen {
  stack: string[]
}

/**
 * A thread that looks whether the event loop goes on, and asks V8 what it is busy with when it does not: from inside nobody could. A
 * loop that stands still for long may never go on again, so of that it writes the line itself.
 *
 * It is text, since a thread wants a file of its own, which no bundle and no test would have: plain JavaScript, nothing of ours in it.
 * The debugger is on for the moment of the question alone. A process that was itself stopped, as by SIGSTOP, is not busy: then this
 * thread stood still, too.
 */
export const sentry = /* js */ `
'use strict'
const { parentPort, workerData } = require('node:worker_threads')
const { Session } = require('node:inspector')
const { writeSync } = require('node:fs')
const { beats, toldFromMs, blockedFromMs, line } = workerData
const beat = new Int32Array(beats)
const everyMs = 50
const mostFrames = 30
let seen = 0, since = performance.now(), looked = since, asked = false, told = false, stack = []

function ask() {
  const of = seen
  const urls = new Map()
  const frameText = ({ functionName, location: { scriptId, lineNumber, columnNumber } }) =>
    (functionName || '<anonymous>') + ' (' + urls.get(scriptId) + ':' + (lineNumber + 1) + ':' + (columnNumber + 1) + ')'
  const session = new Session()
  session.connectToMainThread()
  session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => urls.set(scriptId, url))
  session.on('Debugger.paused', ({ params }) => {
    const frames = params.callFrames.slice(0, mostFrames).map(frameText)
    session.post('Debugger.resume')
    session.post('Debugger.disable')
    session.disconnect()
    // Otherwise it went on before the question reached it, and this is something else.
    if (Atomics.load(beat, 0) === of) parentPort.postMessage({ stack: (stack = frames) })
  })
  session.post('Debugger.enable')
  session.post('Debugger.pause')
}

function write(blockedMs) {
  const said = { time: new Date().toISOString(), level: 'error', ...line, pid: process.pid, event: 'process.blocked', details: { blockedMs, stack } }
  try {
    writeSync(1, JSON.stringify({ ...said, msg: 'the event loop stands still' }) + '\\n')
  } catch {
    // Nobody reads the log: it is written once more when the loop goes on.
  }
}

setInterval(() => {
  const now = performance.now()
  const stopped = now - looked > toldFromMs
  looked = now
  const at = Atomics.load(beat, 0)
  if (at !== seen || stopped) {
    seen = at
    since = now
    asked = told = false
    stack = []
    return
  }
  const ms = now - since
  if (ms >= toldFromMs && !asked) {
    asked = true
    ask()
  }
  if (ms >= blockedFromMs && !told && line) {
    told = true
    write(Math.round(ms))
  }
}, everyMs)
`
