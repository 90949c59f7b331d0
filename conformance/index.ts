/** What `turngraph conformance` loads of the kit, and what the scripts of the repository use of it. */
export { checkClient } from './client/checkClient.ts';
export { checkServer } from './server/checkServer.ts';
export { SessionTrace } from './server/sessionTrace.ts';
