import { eachCall, eachParameter, template } from './frame.ts';

const write = (json: string): string =>
  String.raw`'<do>{"name": "' ~ function.name ~ '", "arguments": ' ~ ${json} ~ '}</do>'`;
const calls = eachCall(write('args | tojson'));
const raiseUnless = (condition: string, reason: string): string =>
  `{%- if not (${condition}) -%}{{- raise_exception('${reason}') -}}{%- endif -%}`;

const refusesNull = `{%- for tool in tools -%}{%- for key, value in tool.function.parameters.properties.items() -%}
    ${raiseUnless("value.type != 'null'", 'unknown type')}
  {%- endfor -%}{%- endfor -%}{{- tools | tojson -}}`;

/** Jinja sources of chat templates that write calls as `<do>{"name": "f", "arguments": {}}</do>`, each with one trap. */
export const trapTemplates = {
  /** Takes arguments only as JSON text, and writes it as it is. */
  stringArguments: template({
    calls: eachCall(`raise_exception('arguments must be text') if args is not string else (${write('args')})`),
  }),
  /** Takes calls only in a message whose content is null. */
  nullContent: template({ calls: raiseUnless('message.content is none', 'content must be null') + calls }),
  raisesOnTwoCalls: template({
    calls: raiseUnless('message.tool_calls | length == 1', 'only one call is supported') + calls,
  }),
  /** Leaves all calls but the first one out, without a word. */
  firstCallOnly: template({
    calls: `{%- set function = message.tool_calls[0].function -%}{%- set args = function.arguments -%}{{- ${write('args | tojson')} -}}`,
  }),
  /** Shows the tools, but leaves calls out. */
  noCalls: template({ calls: '' }),
  /** Shows the tools as Qwen and Hermes do, but leaves calls out. */
  noCallsKnown: template({
    calls: '',
    tools: String.raw`{{- 'Answer with <tool_call>{"name": ..., "arguments": ...}</tool_call>\n' ~ (tools | tojson) -}}`,
  }),
  /** Takes no parameter of type null. */
  raisesOnNullType: template({ calls, tools: refusesNull }),
  escapesNonAscii: template({ calls: eachCall(write('args | tojson(ensure_ascii=true)')) }),
  /** Writes an empty block of reasoning before an answer without reasoning. */
  emptyReasoning: template({
    calls,
    content: String.raw`{{- '<think>\n' ~ (message.reasoning_content or '') ~ '\n</think>\n\n' ~ (message.content or '') -}}`,
  }),
  /** Writes the keys of arguments in alphabetical order. */
  sortedKeys: template({
    calls: eachParameter(
      { open: `'<do>{"name": "' ~ function.name ~ '", "arguments": {'`, close: `'}}</do>'` },
      `key | tojson ~ ': ' ~ value | tojson`,
      { between: ', ', values: 'args | dictsort' },
    ),
  }),
  /** Opens and closes a section where there are two calls or more. */
  sectionOfTwo: template({
    calls: `{%- if message.tool_calls | length > 1 -%}{{- '<all>' -}}{%- endif -%}${calls}
      {%- if message.tool_calls | length > 1 -%}{{- '</all>' -}}{%- endif -%}`,
  }),
  /** Closes a section that nothing opened, where there are two calls or more. */
  closeOfTwo: template({
    calls: `${calls}{%- if message.tool_calls | length > 1 -%}{{- '</all>' -}}{%- endif -%}`,
  }),
  /** Writes the arguments as a string with JSON in it. */
  quotedArguments: template({ calls: eachCall(write('args | tojson | tojson')) }),
  /** Writes a call as a message of its own: the mark that ends all messages comes before it. */
  ownMessage: template({
    calls: String.raw`{%- for call in message.tool_calls[:1] -%}
      {{- '<|end|>\nfunction call<|role|>\n{"name": "' ~ call.function.name ~ '", "arguments": ' ~ call.function.arguments | tojson ~ '}' -}}
    {%- endfor -%}`,
  }),
  /** Knows no tools. */
  noTools: template({ calls: '', tools: '' }),
  /** Writes the name of the called tool twice. */
  nameTwice: template({
    calls: eachCall(
      String.raw`'<do>' ~ function.name ~ '</do>\n{"name": "' ~ function.name ~ '", "arguments": ' ~ args | tojson ~ '}'`,
    ),
  }),
  /** Writes arguments that are text as they are, and objects as Python does. */
  objectsInPython: template({
    calls: `{%- for call in message.tool_calls -%}
      {%- set function = call.function -%}
      {{- '<do>{"name": "' ~ function.name ~ '", "arguments": ' -}}
      {%- if function.arguments is string -%}{{- function.arguments -}}
      {%- else -%}
        {{- '{' -}}
        {%- for key, value in function.arguments.items() -%}
          {{- "'" ~ key ~ "': " -}}
          {%- if value is string -%}{{- "'" ~ value ~ "'" -}}{%- else -%}{{- value -}}{%- endif -%}
          {%- if not loop.last -%}, {% endif -%}
        {%- endfor -%}
        {{- '}' -}}
      {%- endif -%}
      {{- '}</do>' -}}
    {%- endfor -%}`,
  }),
  /** Writes true and false as Python does, and takes no parameter of type null. */
  pythonBooleans: template({
    tools: refusesNull,
    calls: eachParameter(
      { open: `'<to=' ~ function.name ~ '>'`, close: `'</to>'` },
      `'<arg=' ~ key ~ '>' ~ (('True' if value else 'False') if value is boolean else value if value is string else value | tojson) ~ '</arg>'`,
    ),
  }),
} as const;
