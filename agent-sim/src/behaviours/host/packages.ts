import type { svc } from '@svc/proto'

export type Package = svc.v1.Package.$Properties

/** Paragraphs of `Key: value` lines with an empty line between them (deb-control(5)); continued lines are left out. */
function* paragraphs(text: string): Generator<Map<string, string>> {
  for (const block of text.split(/\n{2,}/)) {
    const fields = new Map<string, string>()
    for (const line of block.split('\n')) {
      const at = line.indexOf(':')
      if (at > 0 && line[0] !== ' ' && line[0] !== '\t')
        fields.set(line.slice(0, at), line.slice(at + 1).trim())
    }
    if (fields.size > 0) yield fields
  }
}

/** What /var/lib/dpkg/status counts as installed, held back or not (dpkg(1)). @param installedAtMs by name and architecture */
export function parseDpkg(
  text: string,
  installedAtMs: (name: string, architecture: string) => number,
): Package[] {
  return [...paragraphs(text)].flatMap((fields) => {
    const [name = '', architecture = ''] = [fields.get('Package'), fields.get('Architecture')]
    if (!name || !fields.get('Status')?.endsWith(' installed')) return []
    return [
      {
        name,
        version: fields.get('Version') ?? '',
        vendor: fields.get('Maintainer') ?? '',
        architecture,
        installedAtMs: installedAtMs(name, architecture),
        source: 'dpkg',
      },
    ]
  })
}

/** /lib/apk/db/installed: one letter per field; it does not say when. */
export const parseApk = (text: string): Package[] =>
  [...paragraphs(text)].flatMap((fields) => {
    const name = fields.get('P')
    if (!name) return []
    return [
      {
        name,
        version: fields.get('V') ?? '',
        vendor: fields.get('m') ?? '',
        architecture: fields.get('A') ?? '',
        installedAtMs: 0,
        source: 'apk',
      },
    ]
  })

/** What `rpm -qa` is asked to print of each package: one line, fields between tabs; the epoch only where there is one. */
export const rpmFormat =
  '%{NAME}\\t%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\\t%{VENDOR}\\t%{ARCH}\\t%{INSTALLTIME}\\n'

const said = (text: string | undefined) => (text === undefined || text === '(none)' ? '' : text)

/** Its answer. Keys that packages are signed with are listed among them, and are no software. */
export const parseRpm = (text: string): Package[] =>
  text.split('\n').flatMap((line) => {
    const [name = '', version, vendor, architecture, installed] = line.split('\t')
    if (!name || name === 'gpg-pubkey') return []
    return [
      {
        name,
        version: said(version),
        vendor: said(vendor),
        architecture: said(architecture),
        installedAtMs: Number(installed ?? 0) * 1000 || 0,
        source: 'rpm',
      },
    ]
  })
