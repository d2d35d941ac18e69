/**
 * Can the parts of this URL be read as what they stand for? `URL` leaves a `%` alone that begins no escape, and libraries then fail
 * at a password that holds one, without saying of which variable.
 */
export function isDecodable(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { username, password, pathname } = new URL(url)
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}

/** What is wrong with a URL that is not {@link isDecodable}. */
export const undecodable = 'holds a % that must be written %25'
