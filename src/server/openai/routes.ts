/** What the paths of the API lead to, as the metrics name it. */
export type ApiRoute = 'chat_completions' | 'embeddings' | 'models' | 'model' | 'other';

const modelPath = '/v1/models/';

/** The route of a path. */
export function routeOf(path: string): ApiRoute {
  if (path === '/v1/chat/completions') return 'chat_completions';
  if (path === '/v1/embeddings') return 'embeddings';
  if (path === '/v1/models') return 'models';
  return path.startsWith(modelPath) && path.length > modelPath.length ? 'model' : 'other';
}

/** The name of the model in a path of the route `model`. */
export function modelNameIn(path: string): string {
  const name = path.slice(modelPath.length);
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
