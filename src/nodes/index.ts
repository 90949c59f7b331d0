import type { AnyNodeType } from '../graph/node.ts';
import { cannedResponse } from './cannedResponse.ts';
import { generate } from './generate.ts';
import { guardrail } from './guardrail.ts';
import { toolCall } from './toolCall.ts';

/** The node types of turngraph: a new one is a file and a line here. */
export const nodeTypes: readonly AnyNodeType[] = [guardrail, toolCall, generate, cannedResponse];
