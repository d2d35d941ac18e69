/** An asset as it can be downloaded. */
export interface Addressed {
  version: string
  kind: string
  os: string
  arch: string
  /** on the release host; null: with us */
  url: string | null
}

/** Where whoever downloads an asset finds it; a path without host is one of the API's (update.proto). */
export function addressOf({ version, kind, os, arch, url }: Addressed): string {
  if (url !== null) return url
  const query = new URLSearchParams({ version, component: kind })
  return `/api/v1/agents/download/${os}/${arch}?${query.toString()}`
}
