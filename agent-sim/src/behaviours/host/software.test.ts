import { execFileSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { expect, it } from 'vitest'
import { maxFrameBytes, svc } from '@svc/proto'
import { type Package, parseApk, parseDpkg, parseRpm } from './packages.ts'
import { bounded, readSoftware } from './software.ts'

it.skipIf(!existsSync('/var/lib/dpkg/status'))('software is what dpkg-query says', async () => {
  // oxlint-disable-next-line no-template-curly-in-string -- dpkg's own
  const format = '${db:Status-Status}\t${Package}\t${Version}\t${Architecture}\t${Maintainer}\n'
  const lines = execFileSync('dpkg-query', ['-W', '-f', format]).toString().split('\n')
  const packages = (await readSoftware()).packages ?? []
  const shown = packages
    .filter(({ source }) => source === 'dpkg')
    .map(({ name, version, architecture, vendor }) => [name, version, architecture, vendor].join('\t'))
  const installed = lines.filter((line) => line.startsWith('installed\t')).map((line) => line.slice(10))
  expect(shown.toSorted()).toEqual(installed.toSorted())
  const dpkg = packages.find(({ name }) => name === 'dpkg')
  const unpacked = Math.floor(statSync('/var/lib/dpkg/info/dpkg.list').mtimeMs / 1000) * 1000
  expect(dpkg?.installedAtMs).toBe(unpacked)
})

it('packages that are removed are none, those held back are, continued lines are nobody’s', () => {
  const text = [
    'Package: gone\nStatus: deinstall ok config-files\nVersion: 1',
    'Package: kept\nStatus: hold ok installed\nArchitecture: amd64\nVersion: 2\nDescription: what\n Package: not this\nMaintainer: M',
    'Package: half\nStatus: install ok half-installed\nVersion: 3',
  ].join('\n\n')
  expect(
    parseDpkg(text, (name, architecture) => (`${name}:${architecture}` === 'kept:amd64' ? 5 : 0)),
  ).toEqual([
    { name: 'kept', version: '2', vendor: 'M', architecture: 'amd64', installedAtMs: 5, source: 'dpkg' },
  ])
})

it('reads what apk keeps and what rpm prints', () => {
  expect(
    parseApk('C:Q1\nP:musl\nV:1.2.5-r0\nA:x86_64\nm:T <t@x>\n\nP:zlib\nV:1.3\nA:x86_64\n'),
  ).toMatchObject([
    {
      name: 'musl',
      version: '1.2.5-r0',
      vendor: 'T <t@x>',
      architecture: 'x86_64',
      installedAtMs: 0,
      source: 'apk',
    },
    { name: 'zlib', vendor: '' },
  ])
  const rpm =
    'bash\t5.2-1.fc40\tFedora Project\tx86_64\t1700000000\ngpg-pubkey\t1-2\t(none)\t(none)\t1\nx\t1:1-1\t(none)\tnoarch\t0\n'
  expect(parseRpm(rpm)).toMatchObject([
    {
      name: 'bash',
      version: '5.2-1.fc40',
      vendor: 'Fedora Project',
      installedAtMs: 1_700_000_000_000,
      source: 'rpm',
    },
    { name: 'x', version: '1:1-1', vendor: '', architecture: 'noarch', installedAtMs: 0 },
  ])
})

it('the same packages are the same bytes in whatever order they were found, and one frame holds them', () => {
  const many = Array.from(
    { length: 20_500 },
    (_, at): Package => ({
      name: `a-package-with-a-rather-long-name-${at}`,
      version: '1.0.0-1',
      vendor: 'v'.repeat(130),
      architecture: 'amd64',
      installedAtMs: 1_700_000_000_000,
      source: 'dpkg',
    }),
  )
  const packages = bounded(many)
  expect(packages.length).toBeGreaterThan(12_000)
  expect(packages.length).toBeLessThan(20_000)
  expect(packages).toEqual(bounded(many.toReversed()))
  const frame = svc.v1.Envelope.encode({ inventory: { hash: new Uint8Array(32), software: { packages } } })
  expect(frame.finish().length).toBeLessThan(maxFrameBytes)
  expect(bounded(many.map((one) => ({ ...one, vendor: '' })))).toHaveLength(20_000)
})
