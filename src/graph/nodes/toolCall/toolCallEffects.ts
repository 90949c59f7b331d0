import type { CallableTool, NodeEffects } from '../../compile/node.ts';
import { readTool } from '../../../chat/tools/declaration/readTool.ts';
import { declaredToolName, type ToolDeclaration } from '../../../chat/tools/declaration/toolSchema.ts';
import type { ToolCallParams } from './toolCallParams.ts';

/** What a ToolCall node may do in a turn. */
export function toolCallEffects(params: ToolCallParams): NodeEffects {
  const { tools, tool_choice, generate_on_no_tool, notify_client, await_results, stream } = params;
  const isOffered = tool_choice !== 'none';
  const needsSelection = params.tools_from === 'selection';
  const named = tools.filter((tool) => declaredToolName(tool) === tool_choice);
  const isAsked = !needsSelection && !(named.length > 0 ? named : tools).every(dependsOnTurn);
  // With another choice the model has to call a tool. Where it is offered none, it is not asked.
  const alwaysAnswers = isOffered ? isAsked && (generate_on_no_tool || tool_choice !== 'auto') : generate_on_no_tool;
  return {
    // Without tools it only answers, or does nothing.
    infers: isOffered || generate_on_no_tool,
    sends: generate_on_no_tool ? ['no_tool_called', ...(stream ? ['tool_called', 'no_results'] : [])] : [],
    showsCalls: false,
    held: 'kept',
    tools: isOffered ? callableTools(params) : [],
    // After max_rounds the exit is no_tool_called.
    limitedExits: ['tool_called', 'no_results'],
    unusedExits: isOffered ? (await_results ? [] : ['no_results']) : ['tool_called', 'no_results'],
    silentExits: [...(notify_client ? [] : ['tool_called']), ...(alwaysAnswers ? [] : ['no_tool_called'])],
    needsSelection: needsSelection && tools.map(declaredToolName),
  };
}

/** Whether a tool can be left out of a turn, because values of its parameters come with the message. */
function dependsOnTurn(declaration: ToolDeclaration): boolean {
  const reading = readTool(declaration);
  return reading.ok && reading.value.enumSources !== undefined;
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
