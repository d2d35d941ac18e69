/** What a package-lock.json says of one place, as far as it matters here. */
export interface Locked {
  version?: string
  link?: boolean
  integrity?: string
  hasInstallScript?: boolean
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

/** By path from the root: `node_modules/a`, `node_modules/@b/c/node_modules/d`. */
export type Lock = Record<string, Locked>

/** A package as it is published. */
export interface Published {
  name: string
  version: string
  /** the lock's checksum of it, as of Subresource Integrity */
  integrity: string
}

/** What of a commit's packages cannot be shared. Names of folders in node_modules. */
export interface Own {
  /** of another version, or with other files than were published */
  fetched: Published[]
  /** the same, but what they rely on is not: they have to lie beside it */
  copied: string[]
}

/** The folder in the root's node_modules that a path lies in, itself included. */
const holderOf = (path: string): string | undefined => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]

const needs = ({ dependencies, optionalDependencies, peerDependencies }: Locked): string[] =>
  Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })

/** The places of another version; undefined: of a workspace. */
function differing(of: Lock, sharedWith: Lock): (string | undefined)[] {
  const changed = Object.entries(of)
    .filter(([path, { version, link }]) => !link && sharedWith[path]?.version !== version)
    .filter(([path]) => path.includes('node_modules/'))
  // What lies inside a shared package there, and did not here, would be found by it first.
  const more = Object.keys(sharedWith).filter(
    (path) => !(path in of) && /\/node_modules\/.*\/node_modules\//.test(`/${path}`),
  )
  return [...changed.map(([path]) => path), ...more].map(holderOf)
}

/**
 * What a commit has to have for itself beside the packages that it shares with another one's node_modules.
 *
 * @param altered packages whose files there are not as they were published
 * @returns undefined where npm alone can lay them out: what differs lies inside another package, belongs to a workspace, or runs a script
 */
export function ownPackages(of: Lock, sharedWith: Lock, altered: readonly string[] = []): Own | undefined {
  const fetched = new Set([...differing(of, sharedWith), ...altered])
  const own = new Set(fetched)
  for (let before = -1; before !== own.size; ) {
    before = own.size
    for (const [path, locked] of Object.entries(of))
      if (path.includes('node_modules/') && needs(locked).some((name) => own.has(name)))
        own.add(holderOf(path))
  }
  if (own.has(undefined)) return undefined
  const places = Object.entries(of).filter(([path]) => fetched.has(holderOf(path)))
  const published = places.map(([path, { version, integrity, hasInstallScript }]) => {
    const name = holderOf(path) ?? ''
    const alone = path === `node_modules/${name}` && version && integrity && !hasInstallScript
    return alone ? { name, version, integrity } : undefined
  })
  if (!published.every((each) => each !== undefined)) return undefined
  return {
    fetched: published,
    copied: [...own].filter((name) => name !== undefined && !fetched.has(name)) as string[],
  }
}
