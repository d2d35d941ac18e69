/** The tables that have a column `org_id`, by the statements that made them. @param ddl migrations or a schema dump */
export function tenantTables(ddl: string): Set<string> {
  const text = ddl.replaceAll(/--.*$/gm, '')
  const created = [...text.matchAll(/create table (?:if not exists )?(?:svc\.)?(\w+) \(([^;]*?)\n\)/gi)]
  const altered = [...text.matchAll(/alter table (?:only )?(?:svc\.)?(\w+) ([^;]*);/gi)]
  const names = [
    ...created.filter(([, , body]) => /^\s*org_id\s/m.test(body ?? '')),
    ...altered.filter(([, , change]) => /add column org_id\s/i.test(change ?? '')),
  ].map(([, name]) => String(name))
  return new Set(names)
}
