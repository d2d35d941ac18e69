import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ceilingOf, rightsOfRole, type RoleRow } from '../../test/harness/ceiling.ts'
import { allPermissions, covers, type Right } from './rights.ts'
import {
  atStake,
  demandsMfa,
  effectiveRights,
  type RoleNode,
  type RoleTree,
  sourcedRights,
  wouldCircle,
} from './role-tree.ts'

const node = (id: string, parentRoleId: string | null, ...rights: Right[]): RoleNode => ({
  id,
  name: id,
  parentRoleId,
  forceMfa: false,
  rights: new Set(rights),
})
const treeOf = (...nodes: RoleNode[]): RoleTree => new Map(nodes.map((role) => [role.id, role]))

const right = fc.constantFrom<Right>(...allPermissions.slice(0, 8), '*:*')
const rights = fc.uniqueArray(right, { maxLength: 4 })
/** A forest: each role's parent is one that was made before it. */
const forest = fc
  .array(fc.record({ rights, parent: fc.nat() }), { minLength: 1, maxLength: 8 })
  .map((made) =>
    made.map(({ rights: own, parent }, index) =>
      node(`r${index}`, index === 0 || parent % 3 === 0 ? null : `r${parent % index}`, ...own),
    ),
  )

const rowsOf = (tree: RoleTree): RoleRow[] =>
  [...tree.values()].map(({ id, parentRoleId, rights: own }) => ({ id, parentRoleId, permissions: [...own] }))

test('a role gives its own rights and those of all its parents', () => {
  fc.assert(
    fc.property(forest, (nodes) => {
      const tree = treeOf(...nodes)
      for (const { id } of nodes) expect(effectiveRights(tree, id)).toEqual(rightsOfRole(rowsOf(tree), id))
    }),
    { numRuns: 2_000 },
  )
})

test('a role that is not there is not taken for one that gives nothing', () => {
  expect(() => effectiveRights(treeOf(node('a', null, '*:*')), 'A')).toThrow('not in its owner')
})

test('each right is told from the nearest role that has it', () => {
  const tree = treeOf(
    node('top', null, 'devices:read', 'users:read'),
    node('middle', 'top', 'devices:read', 'sites:read'),
    node('leaf', 'middle', 'sites:read'),
  )
  expect(
    sourcedRights(tree, 'leaf').map(({ right: is, source, inherited }) => [is, source.id, inherited]),
  ).toEqual([
    ['devices:read', 'middle', true],
    ['sites:read', 'leaf', false],
    ['users:read', 'top', true],
  ])
})

test('a parent is refused exactly where it would close a circle', () => {
  fc.assert(
    fc.property(forest, fc.nat(), fc.nat(), (nodes, a, b) => {
      const tree = treeOf(...nodes)
      const [role, parent] = [nodes[a % nodes.length], nodes[b % nodes.length]]
      if (!role || !parent) return
      const after = new Map(tree).set(role.id, { ...role, parentRoleId: parent.id })
      const closes = () => rightsOfRole(rowsOf(after), role.id)
      if (wouldCircle(tree, role.id, parent.id)) expect(closes).toThrow('own ancestor')
      else expect(closes).not.toThrow()
    }),
    { numRuns: 5_000 },
  )
})

test('after a change that the actor may make nobody holds more than before but what the actor holds too', () => {
  let accepted = 0
  fc.assert(
    fc.property(forest, rights, fc.nat(), rights, fc.option(fc.nat()), (nodes, held, at, own, parent) => {
      const tree = treeOf(...nodes)
      const role = nodes[at % nodes.length]
      if (!role) return
      const parentRoleId = parent === null ? null : (nodes[parent % nodes.length]?.id ?? null)
      if (parentRoleId !== null && wouldCircle(tree, role.id, parentRoleId)) return
      const changed = { ...role, parentRoleId, rights: new Set(own) }
      const after = new Map(tree).set(role.id, changed)
      const [before, later] = [rowsOf(tree), rowsOf(after)]
      const allowed = covers(new Set(held), atStake(tree, changed))
      if (allowed) accepted++
      const overstepped = nodes.some(({ id }) => {
        const [was, becomes] = [rightsOfRole(before, id), rightsOfRole(later, id)]
        const moved = [...was, ...becomes].filter((each) => was.has(each) !== becomes.has(each))
        return ceilingOf(held, moved).length > 0
      })
      if (overstepped) expect(allowed).toBe(false)
    }),
    { numRuns: 10_000 },
  )
  expect(accepted).toBeGreaterThan(500)
})

test('a right that a child gains only through its parent is at stake, and so is what the child holds besides', () => {
  const tree = treeOf(
    node('parent', null),
    node('child', 'parent', '*:*'),
    node('other', null, 'users:write'),
  )
  expect(atStake(tree, node('parent', null, 'devices:read'))).toEqual(new Set(['devices:read', '*:*']))
  expect(atStake(tree, node('parent', 'other'))).toEqual(new Set(['users:write', '*:*']))
})

test('a second factor that a change takes from the roles below, or asks of them, puts all that they give at stake', () => {
  const forced = { ...node('parent', 'top'), forceMfa: true }
  const tree = treeOf(node('top', null), forced, node('child', 'parent', 'devices:execute'), {
    ...node('own', 'parent', 'users:write'),
    forceMfa: true,
  })
  const stake = new Set(['devices:execute'])
  expect(atStake(tree, node('parent', 'top'))).toEqual(stake)
  expect(atStake(tree, { ...node('top', null), forceMfa: true })).toEqual(new Set())
  const bare = treeOf(forced, node('moved', 'parent'), node('child', 'moved', 'devices:execute'))
  expect(atStake(bare, node('moved', null))).toEqual(stake)
})

test('what is at stake in a chain of thousands is known at once, to the last of them', () => {
  const deep = Array.from({ length: 5_000 }, (_, n) =>
    node(`r${n}`, n === 0 ? null : `r${n - 1}`, ...allPermissions.slice(n % 5, 30)),
  )
  const tree = treeOf(...deep, node('last', 'r4999', 'users:write'), node('beside', null, '*:*'))
  const started = performance.now()
  const stake = atStake(tree, node('r0', null, 'devices:read', 'scripts:delete'))
  expect(performance.now() - started).toBeLessThan(2_000)
  expect(stake.has('scripts:delete')).toBe(true)
  expect(stake.has('*:*')).toBe(false)
  const given = atStake(tree, node('r0', null, '*:*'))
  expect([given.has('*:*'), given.has('users:write')]).toEqual([true, true])
})

test('a circle that was made by hand ends a walk', () => {
  const tree = treeOf(node('a', 'b', 'devices:read'), node('b', 'a', 'sites:read'))
  expect(effectiveRights(tree, 'a')).toEqual(new Set(['devices:read', 'sites:read']))
})

test('a second factor that a parent demands is demanded of the roles below it, and not of those above', () => {
  const tree = treeOf(node('top', null), { ...node('middle', 'top'), forceMfa: true }, node('leaf', 'middle'))
  expect(['top', 'middle', 'leaf'].map((id) => demandsMfa(tree, id))).toEqual([false, true, true])
})
