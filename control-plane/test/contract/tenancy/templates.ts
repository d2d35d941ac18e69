/** A template literal of a source, with what is in its `${…}`, and the line where it starts. */
export interface Template {
  text: string
  line: number
}

/** Index just behind the string that starts at `start` with quote `'` or `"`. */
function afterString(source: string, start: number): number {
  let at = start + 1
  while (at < source.length && source[at] !== source[start]) at += source[at] === '\\' ? 2 : 1
  return at + 1
}

/** Index just behind the comment at `start`, or `start` where there is none. */
function afterComment(source: string, start: number): number {
  const [open, close] = source.startsWith('//', start) ? ['//', '\n'] : ['/*', '*/']
  if (!source.startsWith(open, start)) return start
  const end = source.indexOf(close, start + 2)
  return end < 0 ? source.length : end + close.length
}

/** Index just behind the code at `start` that ends with an unmatched `}` or the source's end; calls `found` for each template. */
function afterCode(source: string, start: number, found: (start: number, end: number) => void): number {
  let [at, depth] = [start, 0]
  while (at < source.length) {
    const next = afterComment(source, at)
    const char = source[next]
    if (next > at) at = next
    else if (char === "'" || char === '"') at = afterString(source, at)
    else if (char === '`') {
      const end = afterTemplate(source, at)
      found(at, end)
      at = end
    } else if (char === '}' && depth-- === 0) return at + 1
    else {
      if (char === '{') depth++
      at++
    }
  }
  return at
}

function afterTemplate(source: string, start: number): number {
  let at = start + 1
  while (at < source.length && source[at] !== '`') {
    if (source.startsWith('${', at)) at = afterCode(source, at + 2, () => undefined)
    else at += source[at] === '\\' ? 2 : 1
  }
  return at + 1
}

/** The outermost template literals of a TypeScript source; those nested in their `${…}` are part of them. */
export function templatesOf(source: string): Template[] {
  const found: Template[] = []
  afterCode(source, 0, (start, end) => {
    found.push({ text: source.slice(start, end), line: source.slice(0, start).split('\n').length })
  })
  return found
}
