import type { Db } from '../../kernel/tenancy.ts'
import type { Page } from '../../kernel/page.ts'
import { type Command, type CommandSummary, type KeptOutput, summaryColumns } from './command.ts'

type Stream = 'stdout' | 'stderr'
type Columns = { [S in Stream]: Buffer | null } & { [S in Stream as `${S}Encoding`]: string | null } & {
  [S in Stream as `${S}Size`]: number | null
} & { [S in Stream as `${S}Truncated`]: boolean | null }

/** One command with its output. Undefined when the device has no such command, or the caller may not see it. */
export async function findCommand(db: Db, deviceId: string, commandId: string): Promise<Command | undefined> {
  const row = await db.one<Omit<Command, Stream> & Columns>`
    select ${summaryColumns(db)}, c.result, c.late_result,
      c.stdout, c.stdout_encoding, c.stdout_size, c.stdout_truncated,
      c.stderr, c.stderr_encoding, c.stderr_size, c.stderr_truncated
    from commands c
    where c.id = ${commandId}::uuid and c.device_id = ${deviceId}::uuid and ${db.visibleDevice('c', 'device_id')}`
  return row && { ...row, stdout: kept(row, 'stdout'), stderr: kept(row, 'stderr') }
}

function kept(row: Columns, stream: Stream): KeptOutput | undefined {
  const data = row[stream]
  if (!data) return undefined
  return {
    data,
    encoding: row[`${stream}Encoding`] ?? '',
    size: row[`${stream}Size`] ?? data.length,
    truncated: row[`${stream}Truncated`] ?? false,
  }
}

/** A device's commands, newest first, without output: one row more than `page` shows. */
export const listCommands = (db: Db, deviceId: string, page: Page): Promise<CommandSummary[]> =>
  db.rows<CommandSummary>`
    select ${summaryColumns(db)} from commands c
    where c.device_id = ${deviceId}::uuid and ${db.visibleDevice('c', 'device_id')} ${page.after('c')}
    order by c.created_at desc, c.id desc limit ${page.take}`
