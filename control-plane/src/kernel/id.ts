import { z } from 'zod'

/**
 * An id as requests name it. RFC 9562 lets it be written in capitals; we write it as Postgres does, so that it is the same text as the
 * one that a row holds wherever the two are compared.
 */
export const Id = z.uuid().toLowerCase()
