/** The one catalogue of `resource:action`. What is checked is what can be assigned. */
export const permissionCatalogue = {
  devices: ['read', 'write', 'delete', 'execute'],
  scripts: ['read', 'write', 'delete', 'execute'],
  alerts: ['read', 'write', 'acknowledge'],
  automations: ['read', 'write', 'delete'],
  users: ['read', 'write', 'delete', 'invite'],
  organizations: ['read', 'write', 'delete'],
  sites: ['read', 'write', 'delete'],
  remote: ['access'],
  audit: ['read', 'export'],
  patches: ['read', 'approve', 'execute'],
  security: ['read', 'write', 'execute'],
  software: ['read', 'write', 'execute'],
  monitoring: ['read', 'write', 'execute'],
  policies: ['read', 'write', 'execute'],
  maintenance: ['read', 'write'],
  reports: ['read', 'write', 'delete', 'export'],
  integrations: ['read', 'write'],
  ai: ['use', 'admin'],
  backup: ['read', 'write'],
  billing: ['read', 'write'],
} as const

type Catalogue = typeof permissionCatalogue
export type Permission = { [R in keyof Catalogue]: `${R}:${Catalogue[R][number]}` }[keyof Catalogue]

/** Full administrative access, within the caller's scope. */
export const everything = '*:*'
