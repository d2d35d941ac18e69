/** One way to write bytes down, and how long a piece of that gives them away. */
export interface Spelling {
  form: string
  text: string
  /** characters in a row: never more than twelve of the secret, written in this way */
  piece: number
}

/** Characters of a secret in a row that must not be found. */
export const pieceOfSecret = 12

const quoted = (text: string) => JSON.stringify(text).slice(1, -1)

/**
 * Base64 of bytes at any place in a longer text: three ways, by how many bytes stand before. What neighbours have a say in is left out.
 *
 * @see RFC 4648 §4
 */
function base64Of(secret: Buffer, alphabet: 'base64' | 'base64url'): string[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), secret])
      .toString(alphabet)
      .replace(/=+$/, '')
    const end = (before + secret.length) % 3 === 0 ? text.length : text.length - 1
    return text.slice(Math.ceil((before * 8) / 6), end)
  })
}

/** Every way in which a log, a row or a key might have it. */
export function spellings(secret: Buffer): Spelling[] {
  const text = secret.toString('latin1')
  const short = { piece: pieceOfSecret }
  const long = { piece: 2 * pieceOfSecret }
  const all: Spelling[] = [
    { form: 'clear', text, ...short },
    { form: 'JSON', text: quoted(text), ...short },
    { form: 'JSON in JSON', text: quoted(quoted(text)), ...short },
    { form: 'URL', text: encodeURIComponent(text), ...short },
    { form: 'form', text: new URLSearchParams({ '': text }).toString().slice(1), ...short },
    ...base64Of(secret, 'base64').map((spelled) => ({ form: 'base64', text: spelled, ...short })),
    ...base64Of(secret, 'base64url').map((spelled) => ({ form: 'base64url', text: spelled, ...short })),
    { form: 'hex', text: secret.toString('hex'), ...long },
    { form: 'HEX', text: secret.toString('hex').toUpperCase(), ...long },
    // As JSON has a Buffer.
    { form: 'numbers', text: secret.join(), ...long },
  ]
  return all
}
