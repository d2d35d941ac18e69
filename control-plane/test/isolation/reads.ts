import type { Heard } from './asker.ts'
import { marks, type Reader } from './readers.ts'

/** Something that a reader asks again and again, beside somebody else who is there. */
export interface Read {
  /** how many of a hundred reads are of this kind */
  share: number
  path: (reader: Reader, other: Reader, n: number) => string
  /** statuses that answer the question */
  status: number
  /** what is wrong with such an answer, beside marks of others in it */
  flaw?: (body: never, reader: Reader) => string | undefined
}

const pageSize = 5
const sorts = ['hostname', 'lastSeen', 'enrolled']

interface Page {
  devices: { id: string }[]
  nextCursor: string | null
}

const differs = (what: string, seen: unknown, wanted: unknown) =>
  seen === wanted ? undefined : `${what}: ${String(seen)} instead of ${String(wanted)}`

const firstPage = ({ devices, nextCursor }: Page, reader: Reader) => {
  if (nextCursor !== null) reader.cursor = nextCursor
  return differs('devices of the first page', devices.length, Math.min(pageSize, reader.devices))
}

/** All kinds, and how one is known to be right. */
export const reads: Record<string, Read> = {
  'a page of the device list': {
    share: 20,
    path: (_reader, _other, n) => `/devices?limit=${pageSize}&sort=${sorts[n % sorts.length]}`,
    status: 200,
    flaw: ({ devices }: Page, { devices: wanted }) =>
      differs('devices of the first page', devices.length, Math.min(pageSize, wanted)),
  },
  'its first page by name': {
    share: 10,
    path: () => `/devices?limit=${pageSize}&sort=hostname`,
    status: 200,
    flaw: firstPage,
  },
  'the page behind a cursor': {
    share: 15,
    path: ({ cursor }) =>
      `/devices?limit=${pageSize}&sort=hostname${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    status: 200,
  },
  'the page behind somebody else’s cursor': {
    share: 5,
    path: (_reader, { cursor = 'none yet' }) =>
      `/devices?limit=${pageSize}&sort=hostname&cursor=${encodeURIComponent(cursor)}`,
    status: 400,
  },
  'a device': {
    share: 15,
    path: ({ deviceIds }, _other, n) => `/devices/${deviceIds[n % deviceIds.length]}`,
    status: 200,
    flaw: ({ id }: { id: string }, { deviceIds }) => (deviceIds.includes(id) ? undefined : `device ${id}`),
  },
  'a device of somebody else': {
    share: 5,
    path: (_reader, { deviceIds }, n) => `/devices/${deviceIds[n % deviceIds.length]}`,
    status: 404,
  },
  'the number of devices': {
    share: 10,
    path: (_reader, _other, n) => (n % 2 ? '/devices?limit=1&includeTotal=true' : '/devices?limit=1&page=1'),
    status: 200,
    flaw: ({ total }: { total: number }, { devices }) => differs('number of devices', total, devices),
  },
  'the sites': {
    share: 5,
    path: () => '/orgs/sites',
    status: 200,
    flaw: ({ data }: { data: { name: string }[] }, { siteName }) =>
      differs('sites', data.map(({ name }) => name).join(), siteName),
  },
  'what the second wall alone lets through': {
    share: 15,
    path: () => '/bare/devices',
    status: 200,
    flaw: ({ total }: { total: number }, { devices }) => differs('devices in sight', total, devices),
  },
}

/** What is wrong with an answer; undefined: nothing. Foreign is what bears a mark of somebody else: the product is not asked. */
export function flawOf(read: Read, { text }: Heard, reader: Reader): string | undefined {
  const foreign = [...new Set(text.match(marks))].filter((mark) => mark !== reader.mark)
  if (foreign.length > 0) return `shown to ${reader.mark}: ${foreign.join(', ')}`
  const flaw = read.flaw?.(JSON.parse(text) as never, reader)
  return flaw && `${reader.mark}: ${flaw}`
}
