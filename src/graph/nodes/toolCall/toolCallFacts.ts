import type { CallableTool, NodeFacts } from '../../compile/nodeFacts.ts';
import { readTool } from '../../../chat/tools/declaration/readTool.ts';
import { declaredToolName, type ToolDeclaration } from '../../../chat/tools/declaration/toolSchema.ts';
import type { ToolCallParams } from './toolCallParams.ts';

/** What a ToolCall node may do in a turn, for `turngraph audit`. */
export function toolCallFacts(params: ToolCallParams): NodeFacts {
  const { tool_choice, generate_on_no_tool, stream } = params;
  const isOffered = tool_choice !== 'none';
  return {
    // Without tools it only answers, or does nothing.
    infers: isOffered || generate_on_no_tool,
    sends: generate_on_no_tool ? ['no_tool_called', ...(stream ? ['tool_called', 'no_results'] : [])] : [],
    showsCalls: false,
    held: 'kept',
    tools: isOffered ? callableTools(params) : [],
    // After max_rounds the exit is no_tool_called.
    limitedExits: ['tool_called', 'no_results'],
    unusedExits: isOffered ? [] : ['tool_called', 'no_results'],
  };
}

function callableTools(params: ToolCallParams): readonly CallableTool[] {
  const { tools, tool_choice, tools_from, strict, notify_client, await_results } = params;
  const delivery = { isNotified: notify_client, awaitsResult: await_results };
  const isNamed = tool_choice !== 'auto' && tool_choice !== 'required';
  const declared = tools.map((tool) => {
    const name = declaredToolName(tool);
    // Once there are results, the choice counts as `auto`.
    const onlyAfterResult = isNamed && name !== tool_choice;
    const needsSelection = tools_from === 'selection';
    return { name, ...delivery, isConsequential: isConsequential(tool), needsSelection, onlyAfterResult };
  });
  if (strict) return declared;
  // Without a grammar a model may write any name; with a choice calls have to match one.
  const onlyAfterResult = tool_choice !== 'auto';
  const other = { name: undefined, ...delivery, isConsequential: false, needsSelection: false, onlyAfterResult };
  return [...declared, other];
}

function isConsequential(declaration: ToolDeclaration): boolean {
  const reading = readTool(declaration);
  return reading.ok && reading.value.consequential;
}
