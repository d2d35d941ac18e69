import { route } from '../../../../kernel/route.ts'
import { Profile, UpdateProfile } from './schema.ts'
import { changeProfile, ownProfile } from './service.ts'

export default [
  route('GET /users/me', {
    summary: 'The caller’s own profile, and what this login is for',
    can: 'signed-in',
    mfaExempt: true,
    returns: Profile,
    run: ownProfile,
  }),
  route('PATCH /users/me', {
    summary: 'Change one’s own name or picture',
    can: 'signed-in',
    audit: 'user.profile.update',
    body: UpdateProfile,
    returns: Profile,
    run: changeProfile,
  }),
]
