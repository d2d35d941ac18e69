/** Loaded with the first text message, by a dynamic import of this file: of the library itself a bundle would see no names. */
export { request } from 'undici'
