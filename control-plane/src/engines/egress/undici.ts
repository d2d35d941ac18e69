/** Loaded with the first request, by a dynamic import of this file: of the library itself a bundle would see no names. */
export { Client } from 'undici'
