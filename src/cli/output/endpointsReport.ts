import type { EndpointReport } from '../../engine/http/checkEndpoints.ts';
import type { Colors } from './colors.ts';

/** Formats what the inference servers of a model say, one line for each. */
export function endpointsReport(name: string, endpoints: readonly EndpointReport[], colors: Colors): string {
  const lines = endpoints.map(({ url, problem, model, build, contextSize, slots }) =>
    problem === undefined
      ? `  ${url} answers: ${model || 'a model without a name'}, ${slots} slots of ${contextSize} tokens, version ${build || 'unknown'}`
      : `  ${url} ${colors.warning(`cannot be used: ${problem}`)}`,
  );
  return `${colors.bold(name)}\n${lines.join('\n')}\n`;
}
