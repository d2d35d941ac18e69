/** Why an update was refused or broken off before the swap, or given up after it. A closed list: servers count by it. */
export const updateReasons = [
  // nothing of it was believed
  'unknown_key',
  'bad_signature',
  'bad_manifest',
  'manifest_too_large',
  'wrong_target',
  'expired',
  'older_sequence',
  'not_newer',
  // the file did not come, or was another
  'download_failed',
  'download_timeout',
  'bad_size',
  'bad_hash',
  // this machine
  'disk_full',
  'text_busy',
  'file_error',
  'not_installed',
  'switched_off',
  'interrupted',
  // the new version
  'exit_at_start',
  'no_contact',
  'crashed',
] as const
export type UpdateReason = (typeof updateReasons)[number]

/** An update that goes no further. */
export class UpdateFailed extends Error {
  override name = 'UpdateFailed'
  readonly reason: UpdateReason

  /** @param detail for the log */
  constructor(reason: UpdateReason, detail = '') {
    super(detail ? `${reason}: ${detail}` : reason)
    this.reason = reason
  }
}

/** Of an error of the file system: `text_busy` passes by itself (interface §Versioning 4). */
export function failureOf(error: unknown): UpdateFailed {
  if (error instanceof UpdateFailed) return error
  const message = error instanceof Error ? error.message : String(error)
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return new UpdateFailed('disk_full', message)
  if (code === 'ETXTBSY' || code === 'EBUSY') return new UpdateFailed('text_busy', message)
  return new UpdateFailed('file_error', message)
}
