import { describe, expect, test } from 'vitest'
import { testApp } from '../harness/app.ts'
import { ask, type Subject } from './restrictions/ask.ts'
import { type Limited, type Limits, makeStage } from './restrictions/stage.ts'
import { type Touch, touches } from './restrictions/touches.ts'
import { appWithout } from './restrictions/unlimited.ts'
import { call, table } from './world/calls.ts'
import { makeWorld } from './world/things.ts'

const world = await makeWorld(await testApp())
const stage = await makeStage(world)

/** Routes of which nobody has decided what they have to do with devices. */
const undecided = (names: readonly string[]) => names.filter((name) => !Object.hasOwn(touches, name))

test('of every route it is decided what it has to do with devices', () => {
  const names = table.map(({ name }) => name)
  expect(undecided(names)).toEqual([])
  expect(undecided([...names, 'GET /devices/:id/thoughts'])).toEqual(['GET /devices/:id/thoughts'])
  expect(Object.keys(touches).filter((name) => !names.includes(name))).toEqual([])
})

test('what demands full access is what is refused to whoever is limited', () => {
  const demanding = table.filter(({ route }) => route.fullAccess).map(({ name }) => name)
  const refusing = table.map(({ name }) => name).filter((name) => touches[name] === touches['POST /groups'])
  expect(demanding.toSorted()).toEqual(refusing.toSorted())
})

type Checked = Extract<Touch, { check: unknown }>
const checked = Object.entries(touches).flatMap(([name, touch]) =>
  'check' in touch ? [[name, touch] as [string, Checked]] : [],
)

async function differences({ check }: Checked, subject: Subject): Promise<string[]> {
  const found: string[] = []
  for await (const difference of check(subject)) found.push(difference)
  return found
}

test.each(checked)('%s: a limited member sees what the database says', async (name, touch) => {
  const subjects = stage.limited.map((limited) => ({ stage, limited, name }))
  expect((await Promise.all(subjects.map((subject) => differences(touch, subject)))).flat()).toEqual([])
})

/** Nobody's limits were asked for where it shows nothing of these and changes none: called by somebody who has no limits. */
describe('what is said to have nothing to do with devices has not', () => {
  const nothing = table.filter(({ name }) => 'none' in (touches[name] ?? {}))
  const digest = async () => {
    const rows = await world.owner`
      select md5(string_agg(t, '|' order by t)) as digest from (
        select d::text as t from svc.devices d union all select p::text from svc.device_presence p
        union all select c::text from svc.commands c union all select g::text from svc.device_groups g
        union all select m::text from svc.device_group_members m) as everything`
    return rows[0]?.['digest'] as string
  }
  const known = stage.machines.flatMap(({ id, hostname, commandId }) => [id, hostname, commandId])

  test.each(nothing)('$name', async ({ name, route }) => {
    const { own } = world.places
    const person =
      route.can === 'platform' ? await world.people.platformAdmin() : await world.people.orgMember(own)
    const things = route.writes ? await world.things('own') : stage.things
    const before = await digest()
    const reply = await call(world, name, { caller: { person }, things })
    expect(known.filter((word) => reply.text.includes(word))).toEqual([])
    expect(await digest()).toBe(before)
  })
})

/** Whose limits are not asked for, and which: each is then as somebody without any. */
const planted: [who: string, gone: (keyof Limits)[]][] = [
  ['limited to a site', ['siteIds']],
  ['limited to a group', ['deviceGroupIds']],
  ['limited to both', ['siteIds', 'deviceGroupIds']],
]

describe.each(planted)('were who is %s not asked for %j', async (who, gone) => {
  const limited = stage.limited.find(({ name }) => name === who) as Limited
  const [app, things] = [await appWithout(world, gone), await world.things('own')]
  const telling = checked.filter(([, { sitesAlone }]) => !sitesAlone || gone.includes('siteIds'))

  test.each(telling)('%s would turn red', async (name, { check }) => {
    const first = await check({ stage, limited, name, app, things }).next()
    expect(first.done ? [] : [first.value]).toEqual([expect.stringContaining(name)])
  })
})

/** Of two limits one alone is not asked for: the other does not stand in for it. */
describe.each<keyof Limits>(['siteIds', 'deviceGroupIds'])(
  'were %s of two limits not asked for',
  async (gone) => {
    const limited = stage.limited.find(({ name }) => name === 'limited to both') as Limited
    const app = await appWithout(world, [gone])
    const telling = checked.filter(
      ([name, { sitesAlone }]) => !sitesAlone && touches[name] !== touches['POST /groups'],
    )

    test.each(telling)('%s would turn red', async (name, { check }) => {
      const first = await check({ stage, limited, name, app }).next()
      expect(first.done ? [] : [first.value]).toEqual([expect.stringContaining(name)])
    })
  },
)

test('members of the stage see something, and not everything', async () => {
  const admin = { ...stage.limited[0], person: await world.people.orgMember(world.places.own) } as Limited
  const everything = await ask(
    { stage, limited: admin, name: 'GET /devices' },
    { query: { includeTotal: '' } },
  )
  const all = everything.json.total
  for (const limited of stage.limited.filter(({ name }) => !name.includes('gone'))) {
    const { json } = await ask({ stage, limited, name: 'GET /devices' }, { query: { includeTotal: 'true' } })
    expect(json.total).toBeGreaterThan(0)
    expect(json.total).toBeLessThan(all)
  }
})
