import { eachCall, eachParameter, template } from './frame.ts';

const callObject = `'{"name": "' ~ function.name ~ '", "arguments": ' ~ args | tojson ~ '}'`;
const raw = `(value if value is string else value | tojson)`;
const nested = String.raw`
{%- macro write(value) -%}
  {%- if value is string -%}{{- '<|"|>' ~ value ~ '<|"|>' -}}
  {%- elif value is mapping -%}
    {{- '{' -}}{%- for key, item in value.items() -%}{{- key ~ ':' ~ write(item) -}}{%- if not loop.last -%},{%- endif -%}{%- endfor -%}{{- '}' -}}
  {%- elif value is sequence -%}
    {{- '[' -}}{%- for item in value -%}{{- write(item) -}}{%- if not loop.last -%},{%- endif -%}{%- endfor -%}{{- ']' -}}
  {%- else -%}{{- value | tojson -}}{%- endif -%}
{%- endmacro -%}`;
const python = String.raw`
{%- macro write(value) -%}
  {%- if value is none -%}None{%- elif value is boolean -%}{{- 'True' if value else 'False' -}}
  {%- elif value is mapping -%}
    {{- '{' -}}{%- for key, item in value.items() -%}{{- key | tojson ~ ': ' ~ write(item) -}}{%- if not loop.last -%}, {% endif -%}{%- endfor -%}{{- '}' -}}
  {%- elif value is string -%}{{- value | tojson -}}
  {%- elif value is sequence -%}
    {{- '[' -}}{%- for item in value -%}{{- write(item) -}}{%- if not loop.last -%}, {% endif -%}{%- endfor -%}{{- ']' -}}
  {%- else -%}{{- value -}}{%- endif -%}
{%- endmacro -%}`;

/** Jinja sources of chat templates, one per notation of calls. Two calls of `f` and `g` are written as the comment shows. */
export const notationTemplates = {
  /** `<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n<tool_call>...` */
  chatml: template({
    calls: eachCall(String.raw`'<tool_call>\n' ~ ${callObject} ~ '\n</tool_call>'`, String.raw`\n`),
  }),
  /** `<calls>[{"name": "f", "arguments": {}}, {"name": ...}]</calls>` */
  jsonList: template({ calls: `{{- '<calls>[' -}}${eachCall(callObject, ', ')}{{- ']</calls>' -}}` }),
  /** `<calls>[{"f": {}}, {"g": {}}]</calls>` */
  nameAsKey: template({
    calls: `{{- '<calls>[' -}}${eachCall(`'{"' ~ function.name ~ '": ' ~ args | tojson ~ '}'`, ', ')}{{- ']</calls>' -}}`,
  }),
  /** `<do>{"name": "f", "arguments": {}, "id": "..."}</do><do>...` */
  idAfter: template({
    calls: eachCall(
      `'<do>{"name": "' ~ function.name ~ '", "arguments": ' ~ args | tojson ~ ', "id": "' ~ call.id ~ '"}</do>'`,
    ),
  }),
  /** `<|do|>[{"call_id": "0", "tool": "f", "input": {}}, {"call_id": "1", ...}]<|/do|>` */
  countedIds: template({
    calls: `{{- '<|do|>[' -}}${eachCall(
      `'{"call_id": "' ~ loop.index0 ~ '", "tool": "' ~ function.name ~ '", "input": ' ~ args | tojson ~ '}'`,
      ', ',
    )}{{- ']<|/do|>' -}}`,
  }),
  /** `[TOOL_CALLS]f[ARGS]{}[TOOL_CALLS]g[ARGS]{}` */
  nameInMarks: template({ calls: eachCall(`'[TOOL_CALLS]' ~ function.name ~ '[ARGS]' ~ args | tojson`) }),
  /** `[TOOL_CALLS]f[CALL_ID]...[ARGS]{}[TOOL_CALLS]g...` */
  nameAndIdInMarks: template({
    calls: eachCall(`'[TOOL_CALLS]' ~ function.name ~ '[CALL_ID]' ~ call.id ~ '[ARGS]' ~ args | tojson`),
  }),
  /** `<|calls|><|call|>functions.f:0<|args|>{}<|/call|><|call|>functions.g:1<|args|>{}<|/call|><|/calls|>` */
  nameInId: template({
    calls: `{{- '<|calls|>' -}}${eachCall(
      `'<|call|>' ~ call.id ~ '<|args|>' ~ args | tojson ~ '<|/call|>'`,
    )}{{- '<|/calls|>' -}}`,
  }),
  /** `<act>\n<to=f>\n<arg=k>\nv\n</arg>\n</to>\n</act>\n<act>...` */
  lines: template({
    calls: eachParameter(
      { open: String.raw`'<act>\n<to=' ~ function.name ~ '>\n'`, close: String.raw`'</to>\n</act>'` },
      String.raw`'<arg=' ~ key ~ '>\n' ~ ${raw} ~ '\n</arg>\n'`,
      { betweenCalls: String.raw`\n` },
    ),
  }),
  /** `<act>f<k>key</k><v>value</v></act><act>...` */
  pairs: template({
    calls: eachParameter(
      { open: `'<act>' ~ function.name`, close: `'</act>'` },
      `'<k>' ~ key ~ '</k><v>' ~ ${raw} ~ '</v>'`,
    ),
  }),
  /** `<acts>\n<to name="f">\n<arg name="key">value</arg>\n</to>\n<to name="g">\n</to>\n</acts>` */
  attributes: template({
    calls: String.raw`{{- '<acts>\n' -}}${eachParameter(
      { open: String.raw`'<to name="' ~ function.name ~ '">\n'`, close: String.raw`'</to>\n'` },
      String.raw`'<arg name="' ~ key ~ '">' ~ ${raw} ~ '</arg>\n'`,
    )}{{- '</acts>' -}}`,
  }),
  /** `<acts>\n<to name="f">\n<arg name="key" string="true">value</arg>\n</to>\n</acts>` */
  typedAttributes: template({
    calls: String.raw`{{- '<acts>\n' -}}${eachParameter(
      { open: String.raw`'<to name="' ~ function.name ~ '">\n'`, close: String.raw`'</to>\n'` },
      String.raw`'<arg name="' ~ key ~ '" string="' ~ ('true' if value is string else 'false') ~ '">' ~ ${raw} ~ '</arg>\n'`,
    )}{{- '</acts>' -}}`,
  }),
  /** `<|act>to:f{key:<|"|>value<|"|>,n:1}<act|><|act>...` */
  stringMarks:
    nested +
    template({
      calls: eachParameter(
        { open: `'<|act>to:' ~ function.name ~ '{'`, close: `'}<act|>'` },
        `key ~ ':' ~ write(value)`,
        { between: ',' },
      ),
    }),
  /** `<|acts|>[f(key="value", n=1), g()]<|/acts|>` */
  python:
    python +
    template({
      calls: `{{- '<|acts|>[' -}}${eachParameter(
        { open: `function.name ~ '('`, close: `')'` },
        `key ~ '=' ~ write(value)`,
        { between: ', ', betweenCalls: ', ' },
      )}{{- ']<|/acts|>' -}}`,
    }),
  /** `<|channel|>work to=functions.f <|format|>json<|message|>{}<|call|>`, for the first call only. */
  channel: template({
    content: `{%- if message.thinking -%}{{- '<|channel|>thought<|message|>' ~ message.thinking ~ '<|end|><|assistant|>' -}}{%- endif -%}
      {%- if message.content -%}{{- '<|channel|>answer<|message|>' ~ message.content -}}{%- endif -%}`,
    calls: `{%- set function = message.tool_calls[0].function -%}
      {{- '<|channel|>work to=functions.' ~ function.name ~ ' <|format|>json<|message|>' ~ function.arguments | tojson ~ '<|call|>' -}}`,
  }),
} as const;
