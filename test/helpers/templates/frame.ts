/** Parts of a small chat template; Jinja source. */
export interface TemplateParts {
  /** Writes `message.tool_calls`. */
  readonly calls: string;
  /** Writes `tools`. */
  readonly tools?: string;
  /** Writes a message of the assistant up to its calls: reasoning and content. */
  readonly content?: string;
}

/** Jinja source of a chat template in which each message is `<|ROLE|>`, a line break, its content, `<|end|>`. */
export const template = ({ calls, tools = shownTools, content = plainContent }: TemplateParts): string => String.raw`
{%- if tools -%}
  {{- '<|system|>\n' -}}${tools}{{- '<|end|>\n' -}}
{%- endif -%}
{%- for message in messages -%}
  {{- '<|' ~ message.role ~ '|>\n' -}}
  {%- if message.role == 'assistant' -%}${content}{%- else -%}{{- message.content -}}{%- endif -%}
  {%- if message.tool_calls -%}${calls}{%- endif -%}
  {{- '<|end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|assistant|>\n' -}}{%- endif -%}`;

const shownTools = `{{- tools | tojson -}}`;

const plainContent = `{{- message.content or '' -}}`;

/** Writes each call by a Jinja expression of `call`, its `function`, `args` and the `loop`; `between` stands between two. */
export const eachCall = (expression: string, between = ''): string => `
  {%- for call in message.tool_calls -%}
    {%- set function = call.function -%}
    {%- set args = function.arguments -%}
    {{- ${expression} -}}
    ${between === '' ? '' : `{%- if not loop.last -%}{{- '${between}' -}}{%- endif -%}`}
  {%- endfor -%}`;

/** Writes each call as `open`, parameters by an expression of `key` and `value` with `between` between two, `close`. */
export const eachParameter = (
  { open, close }: { readonly open: string; readonly close: string },
  parameter: string,
  { between = '', betweenCalls = '', values = 'args.items()' } = {},
): string => `
  {%- for call in message.tool_calls -%}
    {%- set function = call.function -%}
    {%- set args = function.arguments -%}
    {{- ${open} -}}
    {%- for key, value in ${values} -%}
      {{- ${parameter} -}}
      ${between === '' ? '' : `{%- if not loop.last -%}{{- '${between}' -}}{%- endif -%}`}
    {%- endfor -%}
    {{- ${close} -}}
    ${betweenCalls === '' ? '' : `{%- if not loop.last -%}{{- '${betweenCalls}' -}}{%- endif -%}`}
  {%- endfor -%}`;
