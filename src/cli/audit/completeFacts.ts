import type { NodeFacts } from '../../graph/compile/nodeFacts.ts';

/** Facts of a node without a gap: where its type does not declare one, it is the worst. */
export type AuditedFacts = Required<Omit<NodeFacts, 'tools' | 'guards'>> & Pick<NodeFacts, 'tools' | 'guards'>;

const heldValues: readonly NodeFacts['held'][] = ['kept', 'discarded', 'replaced'];

/**
 * Completes the facts that a node type declares. A mistake in them would make a proof wrong, so it is an error: extensions
 * need not be TypeScript.
 * @param exits all exits of the node.
 * @throws TypeError that names the node type and the fact.
 */
export function completeFacts(type: string, facts: NodeFacts | undefined, exits: readonly string[]): AuditedFacts {
  const { infers, sends, showsCalls, held, tools, guards, limitedExits, unusedExits } = facts ?? {};
  const fail = (fact: string, problem: string): never => {
    throw new TypeError(`facts.${fact} of the node type ${type} ${problem}`);
  };
  const named = { sends, limitedExits, unusedExits, 'guards.exit': guards && [guards.exit] };
  for (const [fact, list] of Object.entries(named)) {
    const unknown = list?.find((exit) => !exits.includes(exit));
    if (unknown !== undefined) fail(fact, `names an exit that the node does not have: "${unknown}"`);
  }
  if (held !== undefined && !heldValues.includes(held)) fail('held', `must be one of ${heldValues.join(', ')}`);
  return {
    infers: infers ?? true,
    sends: sends ?? exits,
    showsCalls: showsCalls ?? true,
    held: held ?? 'replaced',
    limitedExits: limitedExits ?? [],
    unusedExits: unusedExits ?? [],
    ...(tools && { tools }),
    ...(guards && { guards }),
  };
}
