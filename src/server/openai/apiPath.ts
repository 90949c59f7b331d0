/** Whether a path belongs to the OpenAI-compatible API. */
export const isApiPath = (path: string): boolean => path === '/v1' || path.startsWith('/v1/');
