import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** Comma, double quotes, UTF-8, from the first line; numbers are looked for, and formulas are evaluated: as careless as it can be. */
const filter = 'CSV:44,34,76,1,,0,false,true,false,false,false,0,true'

/** Spreadsheet programs of this machine; an empty list where there is none. */
export const spreadsheets: readonly string[] = ['/usr/bin/soffice', '/usr/lib/libreoffice/program/soffice']
  .filter((path) => existsSync(path))
  .slice(0, 1)

/** Opens a file of CSV in it. @returns the formulas that it found there, and all that it made of the file */
export async function openIn(
  program: string,
  csv: string,
): Promise<{ formulas: string[]; document: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-spreadsheet-'))
  try {
    const file = join(folder, 'export.csv')
    writeFileSync(file, csv)
    const home = `-env:UserInstallation=file://${join(folder, 'home')}`
    const args = [
      home,
      '--headless',
      `--infilter=${filter}`,
      '--convert-to',
      'fods',
      '--outdir',
      folder,
      file,
    ]
    await run(program, args, { timeout: 120_000 })
    const document = readFileSync(join(folder, 'export.fods'), 'utf8')
    return {
      formulas: [...document.matchAll(/table:formula="([^"]*)"/g)].map(([, said = '']) => said),
      document,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
