import { templatesOf } from './templates.ts'

/** Tables that a statement reads or changes; the target of an `insert` is neither, and row-level security checks what it gets. */
function named(sql: string): string[] {
  return [
    ...sql.matchAll(
      /\b(from|join|update|using|table)\s+(?:only\s+)?(?:svc\.)?(\w+)|,\s*(?:svc\.)?(\w+)\s+(?:as\s+)?[a-z]\b/gi,
    ),
  ].map((match) => match[2] ?? match[3] ?? '')
}

/** The first wall in any of its forms. */
const anyWall = /\bvisible(Device|Group)?\(/
/** The one that asks for the limits of a membership too. */
export const deviceWall = /\bvisibleDevice\(/

/** Names of the declarations of this file that say it themselves, such as a shared condition. */
const guards = (source: string, says: RegExp) =>
  source
    .split(/^(?=(?:export )?(?:async )?(?:const|function) )/m)
    .filter((declaration) => says.test(declaration))
    .flatMap((declaration) => /(?:const|function) (\w+)/.exec(declaration)?.[1] ?? [])

/**
 * The statements of a `queries.ts` that read one of the tables and never say `visible(`, `visibleDevice(` or `visibleGroup(`, themselves
 * or by a shared condition of the same file: `line: tables` each. A fragment counts as a statement: what it names, it guards.
 *
 * @param says what a statement has to say; default: any of these
 */
export function unguarded(source: string, tenant: ReadonlySet<string>, says = anyWall): string[] {
  const shared = guards(source, says)
  const guarded = (text: string) => says.test(text) || shared.some((name) => text.includes(`\${${name}(`))
  return templatesOf(source)
    .map(({ text, line }) => ({ line, text, tables: named(text).filter((name) => tenant.has(name)) }))
    .filter(({ text, tables }) => tables.length > 0 && !guarded(text))
    .map(({ line, tables }) => `${line}: ${[...new Set(tables)].join(', ')}`)
}
