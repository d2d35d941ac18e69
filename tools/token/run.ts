import { join } from 'node:path'
import { DataFolder } from '../start/data-folder.ts'
import { withLock } from '../start/lock.ts'
import { Expected } from '../start/options.ts'
import { isAccepted, login, refresh, type Tokens } from './login.ts'

/** Long enough for a whole login of another one of us that has to wait for a time step. */
const lockWithinMs = 45_000
/** An access token with less than this left is not handed out. */
const marginMs = 30_000

export interface TokenOptions {
  data: string
  /** Log in, whatever is kept: a second factor that was proven a moment ago. */
  fresh: boolean
}

/** Prints an access token for the server that runs on a data folder. */
export async function run({ data, fresh }: TokenOptions): Promise<number> {
  const folder = new DataFolder(data)
  const running = folder.running.read()
  const admin = folder.demo.read()
  if (!running || !admin)
    throw new Expected(`No server is running on ${folder.path}: run \`npm start\` first.`)
  // One at a time: two logins in one time step would need the same code.
  const { accessToken } = await withLock(join(folder.path, 'token.lock'), lockWithinMs, async () => {
    const tokens = await obtain(running.api, fresh ? undefined : folder.tokens.read(), () =>
      login(running.api, admin, (ms) => console.error(`waiting ${Math.ceil(ms / 1000)} s for the next code`)),
    )
    folder.tokens.write(tokens)
    return tokens
  })
  console.log(accessToken)
  return 0
}

/** What is kept if it is still good, else a refreshed pair, else a new login. */
async function obtain(api: string, kept: Tokens | undefined, logIn: () => Promise<Tokens>): Promise<Tokens> {
  if (!kept) return logIn()
  if (expiresAt(kept.accessToken) - marginMs > Date.now() && (await isAccepted(api, kept))) return kept
  return (await refresh(api, kept)) ?? logIn()
}

/** The `exp` of a JWT in milliseconds. The token is ours: whether it is genuine is for the server to say. */
function expiresAt(token: string): number {
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
    exp?: number
  }
  return (claims.exp ?? 0) * 1000
}
