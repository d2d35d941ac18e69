/**
 * The database driver, postgres.js 3.4.9, does not survive the loss of a connection: a write on a socket that is gone ends the
 * process (porsager/postgres#1208), the connection's place in the pool may never work again, the next query on it fails with the
 * last one's error, and what a transaction still sends may run inside another one, which reuses its connection (#1216). A BEGIN
 * may also get a connection that it does not keep for itself (#1189). No released version repairs this, so the few lines are
 * repaired where they lie. Delete this file with the first version that does.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** By file, what stands there and what is to stand there. */
export const repairs = {
  'connection.js': [
    // A query for a connection that is gone is refused.
    [
      `    if (terminated)
      return queryError(`,
      `    if (terminated || !socket)
      return queryError(`,
    ],
    // Reserved is reserved, however full the pipe is.
    [
      `        && sent.length < max_pipeline
        && (!q.options.onexecute || q.options.onexecute(connection))`,
      `        && sent.length < max_pipeline
        && !q.options.onexecute
        || (q.options.onexecute && q.options.onexecute(connection))`,
    ],
    // Losing the connection while it asks for its array types is told to whoever waits for the connection, and to nobody else; the
    // next one asks again.
    [
      `      order by b.oid
    \`], [], execute)
`,
      `      order by b.oid
    \`], [], execute).catch(() => [])
`,
    ],
    // Nothing is written to a socket that is gone.
    [
      `  function write(x, fn) {
    chunk`,
      `  function write(x, fn) {
    if (!socket)
      return false
    chunk`,
    ],
    // A new connection begins with nothing of the old one: no timer that will never fire, no half of a message …
    [
      `    clearImmediate(nextWriteTimer)
    socket.removeListener`,
      `    clearImmediate(nextWriteTimer)
    nextWriteTimer = chunk = null
    socket.removeListener`,
    ],
    // … and, once everybody who waits has been told (also those who came after the error), no query and no error.
    [
      `    !hadError && (query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
`,
      `    ;(query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
    query = results = errorResponse = null
    result = new Result()
`,
    ],
  ],
  'index.js': [
    [
      `    let savepoints = 0
      , connection
`,
      `    let savepoints = 0
      , gone = null
      , connection
`,
    ],
    // A transaction does not wait for its BEGIN to be answered: what it says first travels with it. Its commit does wait, and once a
    // BEGIN is refused nothing more is said (docs/decisions/0023).
    [
      `      await sql.unsafe('begin ' + options.replace(/[^a-z ]/ig, ''), [], { onexecute }).execute()
      return await Promise.race([
        scope(connection, fn),`,
      `      const began = sql.unsafe('begin ' + options.replace(/[^a-z ]/ig, ''), [], { onexecute }).execute()
      began.catch(e => {
        gone = gone || e
        while (queries.length)
          queries.shift().reject(e)
      })
      await Promise.race([sent, began])
      connection.queue === full && move(connection, reserved)
      return await Promise.race([
        scope(connection, fn, null, began),`,
    ],
    [
      `      , connection
      , prepare = null
`,
      `      , connection
      , prepare = null
      , onsent = null

    const sent = new Promise(r => onsent = r)
`,
    ],
    [`    async function scope(c, fn, name) {`, `    async function scope(c, fn, name, began) {`],
    [
      `          Promise.resolve(Array.isArray(x) ? Promise.all(x) : x).then(resolve, reject)
        })
`,
      `          Promise.resolve(Array.isArray(x) ? Promise.all(x) : x).then(resolve, reject)
        })
        await began
`,
    ],
    [
      `      connection = c
      move(c, reserved)`,
      `      connection = c
      onsent()
      move(c, reserved)`,
    ],
    // A transaction ends with its connection, and so do its queries that had not been sent.
    [
      `new Promise((_, reject) => connection.onclose = reject)`,
      `new Promise((_, reject) => connection.onclose = e => {
          gone = e
          while (queries.length)
            queries.shift().reject(e)
          reject(e)
        })`,
    ],
    [
      `        q.catch(e => uncaughtError || (uncaughtError = e))
        c.queue`,
      `        q.catch(e => uncaughtError || (uncaughtError = e))
        if (gone)
          return q.reject(gone)
        c.queue`,
    ],
  ],
}

/** The text with everything repaired. Throws when it is neither the one nor the other: another version was installed. */
export function repair(text, pairs) {
  for (const [from, to] of pairs) {
    if (text.includes(to)) continue
    if (text.split(from).length !== 2) throw new Error(`what is to be repaired is not there: ${from.trim()}`)
    text = text.replace(from, () => to)
  }
  return text
}

/** Where the driver's source lies that Node and the bundles load. */
export const driverSource = () =>
  join(dirname(dirname(dirname(createRequire(import.meta.url).resolve('postgres')))), 'src')

/** Repairs the installed driver. A crash leaves each file as it was or repaired. */
export function repairDriver(source = driverSource()) {
  for (const [file, pairs] of Object.entries(repairs)) {
    const path = join(source, file)
    const before = readFileSync(path, 'utf8')
    const after = repair(before, pairs)
    if (after === before) continue
    const temporary = `${path}.${process.pid}.tmp`
    try {
      writeFileSync(temporary, after)
      renameSync(temporary, path)
    } finally {
      rmSync(temporary, { force: true })
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    repairDriver()
  } catch (error) {
    console.error(
      `The database driver cannot be repaired (control-plane/scripts/postgres-closed.mjs): ${error.message}`,
    )
    process.exit(1)
  }
}
