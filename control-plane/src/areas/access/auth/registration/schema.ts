import { z } from 'zod'
import { label } from '../../../../kernel/text.ts'
import { NewPassword } from '../password/policy.ts'

/** An address that mail can be sent to. Compared as stored: trimmed, lower case, composed. */
const Address = z
  .string()
  .max(255)
  .transform((email) => email.normalize('NFKC').trim().toLowerCase())
  .pipe(z.email().max(255))
  .describe('At most 255 characters, in any case')

const person = { email: Address, password: NewPassword, name: label(255).describe('Display name') }

export const Register = z.strictObject(person).meta({
  id: 'Register',
  examples: [{ email: 'ann@provider.example', password: 'correct horse battery staple', name: 'Ann Lee' }],
})
export type Register = z.output<typeof Register>

export const RegisterPartner = z
  .strictObject({
    companyName: z.string().trim().min(2).max(255).describe('The partner’s name, 2 to 255 characters'),
    ...person,
    acceptTerms: z.literal(true).optional().describe('True where the page asks for it'),
  })
  .meta({
    id: 'RegisterPartner',
    examples: [
      {
        companyName: 'Provider Ltd',
        email: 'ann@provider.example',
        password: 'correct horse battery staple',
        name: 'Ann Lee',
      },
    ],
  })
export type RegisterPartner = z.output<typeof RegisterPartner>

/** Says what was asked for and nothing that was found: it is the same whether the address has an account or not. */
export const Registered = z.object({ email: z.string(), name: z.string() }).meta({
  id: 'Registered',
  description:
    'The same whether the address had an account already: then nothing was made, and its owner was told by mail.',
})
export type Registered = z.output<typeof Registered>
