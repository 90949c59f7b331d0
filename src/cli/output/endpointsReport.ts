import type { EndpointReport } from '../../inference/remote/checkEndpoints.ts';
import type { Colors } from './colors.ts';

/** Formats what the inference servers of a model say, one line for each. */
export function endpointsReport(name: string, endpoints: readonly EndpointReport[], colors: Colors): string {
  const lines = endpoints.flatMap(({ url, problem, model, build, contextSize, slots, limits, notes }) => {
    if (problem !== undefined) return [`  ${url} ${colors.warning(`cannot be used: ${problem}`)}`];
    const size = contextSize === 0 ? 'an unknown context' : `${contextSize} tokens`;
    const facts = `${slots} slots of ${size}, version ${build || 'unknown'}`;
    const warnings = [...notes, ...Object.values(limits)].map((note) => `    ${colors.warning(note)}`);
    return [`  ${url} answers: ${model || 'a model without a name'}, ${facts}`, ...warnings];
  });
  return `${colors.bold(name)}\n${lines.join('\n')}\n`;
}
