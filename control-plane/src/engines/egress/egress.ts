export {
  type Egress,
  type EgressCode,
  EgressError,
  type EgressInit,
} from '../../adapters/egress.ts'
export type { Denied } from './check.ts'
export { fetchOf } from './custom-fetch.ts'
export { makeEgress } from './make.ts'
export { egressMetrics } from './metrics.ts'
export { type EgressOptions, usualPorts } from './options.ts'
export { type Delivery, newWebhookSecret, signWebhook } from './sign-webhook.ts'
