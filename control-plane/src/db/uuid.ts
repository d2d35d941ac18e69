const form = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** True for a uuid as Postgres writes it: ids are compared as text, and stand unquoted in array literals. */
export const isUuid = (text: string): boolean => form.test(text)
