/** RFC 4180 §2, and nothing more lenient. @throws on anything else */
export function parseCsv(text: string): string[][] {
  const records: string[][] = []
  const cell = /"((?:[^"]|"")*)"(,|\r\n)/y
  for (let record: string[] = []; cell.lastIndex < text.length; ) {
    const at = cell.lastIndex
    const found = cell.exec(text)
    if (!found) throw new Error(`no CSV at ${at}: ${JSON.stringify(text.slice(at, at + 40))}`)
    record.push((found[1] ?? '').replaceAll('""', '"'))
    if (found[2] === ',') continue
    records.push(record)
    record = []
  }
  return records
}
