import { type CommandTypeName, commandTypes } from '@svc/proto'
import { isStorable } from '../../db/array-literal.ts'
import { ApiError } from '../../kernel/errors.ts'
import { issueText } from '../../kernel/issue-text.ts'
import { unstorableText } from '../../kernel/text.ts'

/** The arguments as the type's schema leaves them, defaults filled in. @throws ApiError VALIDATION_ERROR */
export function parseArgs(type: CommandTypeName, args: unknown): unknown {
  const parsed = commandTypes[type].args.safeParse(args ?? {}, { error: issueText })
  if (!parsed.success) {
    throw refused(
      parsed.error.issues.map(({ path, message }) => ({ field: ['payload', ...path].join('.'), message })),
    )
  }
  JSON.stringify(parsed.data, refuseUnstorable)
  return parsed.data
}

/** What Postgres cannot keep unchanged would reach the device changed, so it is not accepted. */
function refuseUnstorable(key: string, value: unknown): unknown {
  if (!isStorable(key) || (typeof value === 'string' && !isStorable(value))) {
    throw refused([{ field: `payload.${key}`, message: unstorableText }])
  }
  return value
}

const refused = (issues: { field: string; message: string }[]) =>
  new ApiError('VALIDATION_ERROR', 'the arguments do not fit the command', {
    details: issues.map((issue) => ({ in: 'body', ...issue })),
  })
