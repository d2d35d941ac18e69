/** Stands where something was left out. */
const gap = '[withheld]'

/** Shorter ones would take ordinary words and numbers away. */
const shortest = 4

const quoted = (text: string) => JSON.stringify(text).slice(1, -1)

/** The ways in which an answer may say again what it was given. */
const spellings = (secret: string): string[] => [
  secret,
  quoted(secret),
  quoted(quoted(secret)),
  encodeURIComponent(secret),
  new URLSearchParams([['', secret]]).toString().slice(1),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
]

/**
 * What another server said, without what it was given in confidence: it goes into logs, and into rows of jobs. Mail servers and
 * providers quote what they refuse, be it a link or a code.
 *
 * @param secrets those of fewer than four characters are left alone
 */
export function withheld(text: string, secrets: readonly string[]): string {
  const forms = [...new Set(secrets.filter(({ length }) => length >= shortest).flatMap(spellings))]
  // The longest first: of a form that holds another one nothing is left over.
  return forms
    .toSorted((a, b) => b.length - a.length)
    .reduce((said, form) => said.replaceAll(form, gap), text)
}
