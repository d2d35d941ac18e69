/**
 * A fault on a machine of any speed. A test of whole programs that fails with it is not judged again when it is alone
 * (docs/decisions/0033).
 */
export class StandingFault extends Error {
  override readonly name = 'StandingFault'
}
